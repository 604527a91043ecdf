//! What can go wrong, classified by what has to be mended.

use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What has to be mended; the exit code of a program follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, voice, tensor, option or file given by the caller cannot be used.
    Input,
    /// An artifact is missing, damaged, or made for another schema or machine.
    Artifact,
    /// The machine lacks something: a library, a feature, space on a disk.
    Environment,
    /// A defect of this library.
    Internal,
}

/// An error; its text names the cause, the evidence and the next command.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    message: String,
}

impl Error {
    /// An error of [`Kind::Input`].
    pub fn input(message: impl Into<String>) -> Error {
        Error { kind: Kind::Input, message: message.into() }
    }

    /// An error of [`Kind::Artifact`].
    pub fn artifact(message: impl Into<String>) -> Error {
        Error { kind: Kind::Artifact, message: message.into() }
    }

    /// An error of [`Kind::Environment`].
    pub fn environment(message: impl Into<String>) -> Error {
        Error { kind: Kind::Environment, message: message.into() }
    }

    /// An error of [`Kind::Internal`].
    pub fn internal(message: impl Into<String>) -> Error {
        Error { kind: Kind::Internal, message: message.into() }
    }

    /// The same error, whose text begins with `place`.
    #[must_use]
    pub fn after(self, place: &str) -> Error {
        Error { message: format!("{place}{}", self.message), ..self }
    }

    /// What has to be mended.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The exit code of a program that fails with this error: 3, or 4 for a defect.
    pub fn exit_code(&self) -> i32 {
        match self.kind {
            Kind::Internal => 4,
            _ => 3,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result of `action`, with a panic as an error of [`Kind::Internal`].
pub fn guarded<T>(action: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_string());
        Err(Error::internal(format!("a panic: {text} (this is a bug, please report it)")))
    })
}

/// The reason that the system gives, without the number that Rust appends.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}
