//! `kokoro-say`: speak phonemes with an artifact of tvm-kokoro, without Python.

#![deny(unsafe_code)]

mod info;
mod output;
mod say;
mod streams;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use kokoro_runtime::audio::WriteError;
use kokoro_runtime::{artifact, guarded, Device, Error};

/// Exit codes, as `kokoro-pipeline` has them.
mod exit {
    pub const OK: u8 = 0;
    pub const FAILED_CHECK: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const PIPE_CLOSED: u8 = 141;
}

const EXIT_CODES: &str = "\
exit codes: 0 done; 1 a check failed; 2 wrong usage; 3 bad input, file or library; 4 a defect of \
this program; 130 interrupted; 141 the reader of the output has gone; 129 and 143 ended by SIGHUP \
and SIGTERM";

/// Speak phonemes with an artifact of tvm-kokoro, without Python.
#[derive(Parser)]
#[command(name = "kokoro-say", version, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    say: SayArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Describe an artifact by its manifest
    Info(FolderArgs),
    /// Check every file of an artifact against its manifest
    Verify(FolderArgs),
}

#[derive(Args)]
struct FolderArgs {
    /// An artifact folder (default: the bundle's)
    #[arg(value_name = "DIR")]
    artifact: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What and how to speak.
#[derive(Args)]
pub struct SayArgs {
    /// The phonemes, as `kokoro-pipeline phonemize` prints them
    #[arg(long, value_name = "TEXT", conflicts_with = "stdin", allow_hyphen_values = true)]
    phonemes: Option<OsString>,
    /// Speak each line of standard input as it comes: one line of phonemes a sentence
    #[arg(long)]
    stdin: bool,
    /// The artifact folder (default: the bundle's)
    #[arg(long, value_name = "DIR")]
    artifact: Option<PathBuf>,
    /// The WAV file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A name, a blend such as af_heart:0.6,af_bella:0.4, or a voice file
    #[arg(long, value_name = "VOICE", default_value = "af_heart")]
    voice: OsString,
    /// Speaking rate; 2 is twice as fast
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true)]
    speed: f64,
    /// Seed of the noise; the same seed gives bit-identical audio
    #[arg(long, value_name = "N", default_value = "0", value_parser = seed, allow_hyphen_values = true)]
    seed: kokoro_runtime::speech::noise::Seed,
    /// Threads to compute with (default: $TVM_NUM_THREADS, else every core)
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    threads: Option<usize>,
    /// Where the artifact runs: auto (what it was built for) or cpu
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    device: Device,
    /// Write 32-bit float samples, not 16-bit integers
    #[arg(long = "float")]
    floating: bool,
}

fn device(text: &str) -> std::result::Result<Device, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

fn seed(text: &str) -> std::result::Result<kokoro_runtime::speech::noise::Seed, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number of 0 or above"))
}

fn positive(text: &str) -> std::result::Result<usize, String> {
    let number = text.parse().ok().filter(|&count| count > 0);
    number.ok_or_else(|| format!("{text:?} is not a whole number above 0"))
}

fn main() -> ExitCode {
    ExitCode::from(code(guarded(|| Ok(run())).map_err(Failure::from)))
}

fn run() -> u8 {
    match Cli::try_parse() {
        Ok(cli) => code(match &cli.command {
            Some(Command::Info(args)) => run_info(args),
            Some(Command::Verify(args)) => run_verify(args),
            None => say::run(&cli.say),
        }),
        Err(said) => unparsed(&said),
    }
}

/// The exit code of an outcome, of which a failure is told.
fn code(outcome: Outcome) -> u8 {
    match outcome {
        Ok(code) => code,
        Err(Failure::Usage(what)) => {
            let kind = clap::error::ErrorKind::MissingRequiredArgument;
            unparsed(&Cli::command().error(kind, what))
        }
        Err(Failure::Write(WriteError::Closed)) => exit::PIPE_CLOSED,
        Err(Failure::Write(WriteError::Failed(error))) => {
            tell(&format!("error: {error}"));
            error.exit_code() as u8
        }
    }
}

/// Print the help or the version, which are results, or what is wrong with the command line.
fn unparsed(said: &clap::Error) -> u8 {
    if said.use_stderr() {
        let _ = said.print(); // as `tell` does
        return exit::USAGE;
    }
    code(print(&said.to_string()).map(|()| exit::OK))
}

/// Print a line on standard error. One that takes nothing, as on a full disk, changes no result.
pub fn tell(text: &str) {
    let _ = std::io::stderr().write_all(format!("kokoro-say: {text}\n").as_bytes());
}

/// Why a command ended early.
pub enum Failure {
    /// Options are missing or do not go together.
    Usage(String),
    /// An error, or the reader of the output has gone.
    Write(WriteError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Write(WriteError::Failed(error))
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Failure {
        Failure::Write(error)
    }
}

type Outcome = std::result::Result<u8, Failure>;

/// The artifact that is named, or that of the bundle that this program is in.
pub fn artifact_folder(named: &Option<PathBuf>) -> std::result::Result<PathBuf, Failure> {
    let found = match named {
        Some(folder) => Some(folder.clone()),
        None => kokoro_runtime::libraries::bundled_artifact()?,
    };
    found.ok_or_else(|| {
        Failure::Usage(
            "which artifact? name its folder; only in a bundle there is a default".into(),
        )
    })
}

/// Print a result on standard output.
fn print(text: &str) -> std::result::Result<(), Failure> {
    streams::require_output()?;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Err(WriteError::Closed.into())
        }
        Err(error) => {
            let why = kokoro_runtime::reason(&error);
            Err(Error::environment(format!("cannot write the result: {why}")).into())
        }
    }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn run_info(args: &FolderArgs) -> Outcome {
    let manifest = artifact::read(&artifact_folder(&args.artifact)?)?.manifest;
    print(&if args.json { pretty(&manifest.json) } else { info::describe(&manifest) })?;
    Ok(exit::OK)
}

fn run_verify(args: &FolderArgs) -> Outcome {
    let folder = artifact_folder(&args.artifact)?;
    let results = artifact::verify(&folder)?;
    let passed = results.iter().all(|result| result.passed);
    let shown = folder.display().to_string();
    print(&if args.json {
        let checks: Vec<serde_json::Value> = results
            .iter()
            .map(|result| {
                serde_json::json!({
                    "name": result.name, "passed": result.passed, "detail": result.detail
                })
            })
            .collect();
        pretty(&serde_json::json!({"artifact": shown, "passed": passed, "checks": checks}))
    } else {
        let rows: Vec<[String; 3]> = results
            .iter()
            .map(|result| {
                let state = if result.passed { "ok" } else { "FAILED" };
                [state.to_string(), result.name.clone(), result.detail.clone()]
            })
            .collect();
        format!("{}{}\n", info::table(&rows), verdict(&folder, passed))
    })?;
    Ok(if passed { exit::OK } else { exit::FAILED_CHECK })
}

fn verdict(folder: &Path, passed: bool) -> String {
    let shown = folder.display();
    if passed {
        format!("{shown}: whole")
    } else {
        format!(
            "{shown}: damaged or not for this machine; build it anew with `kokoro-pipeline build \
             -o {shown} --force`"
        )
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }

    #[test]
    fn a_panic_has_the_exit_code_of_a_defect() {
        let outcome = super::guarded(|| panic!("on purpose"));
        assert_eq!(super::code(outcome.map_err(super::Failure::from)), 4);
    }
}
