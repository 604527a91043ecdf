//! Which standard streams were closed when the program was started.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in the place of closed ones: what is written
//! would vanish without an error.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kokoro_runtime::{Error, Result};

static CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// The loader calls what stands in this section before Rust's runtime begins.
#[used]
#[allow(unsafe_code)] // a section is named; the function has no arguments and returns nothing
#[cfg_attr(target_os = "linux", link_section = ".init_array")]
#[cfg_attr(target_os = "macos", link_section = "__DATA,__mod_init_func")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let streams = Path::new("/dev/fd");
    // Where no such folder is mounted, nothing can be told, and the streams are taken to be open.
    if streams.is_dir() {
        for (number, closed) in CLOSED.iter().enumerate() {
            let there = streams.join(number.to_string()).symlink_metadata().is_ok();
            closed.store(!there, Ordering::Relaxed);
        }
    }
}

/// Refuse to read from a standard input that is closed.
pub fn require_input() -> Result<()> {
    if CLOSED[0].load(Ordering::Relaxed) {
        return Err(Error::input("standard input is closed: give --phonemes TEXT"));
    }
    Ok(())
}

/// Refuse to write to a standard output that is closed.
pub fn require_output() -> Result<()> {
    if CLOSED[1].load(Ordering::Relaxed) {
        return Err(Error::environment("standard output is closed"));
    }
    Ok(())
}
