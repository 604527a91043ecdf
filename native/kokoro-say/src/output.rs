//! The file or pipe that is written, which an interrupt completes at any moment.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use kokoro_runtime::audio::{WavWriter, WriteError};
use kokoro_runtime::{reason, Error, Result, SAMPLE_RATE};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::tell;

/// How long an interrupt waits for what is not a file, and for one that is just being created. A
/// pipe takes as long as it likes to open, and what its reader does not take does not get there:
/// nothing is lost when that is given up.
const PATIENCE: Duration = Duration::from_millis(200);

enum State {
    Opening,
    Open(WavWriter),
    Closed,
}

struct Shared {
    /// Locked while something is written.
    state: Mutex<State>,
    /// Whether a file is open, which an interrupt completes however long a write takes.
    is_file: AtomicBool,
}

/// A writer that a thread of its own completes when the program is interrupted.
///
/// What was said until then is kept as a valid file. A file of which nothing is written yet stays
/// as it was.
pub struct Output {
    shared: Arc<Shared>,
}

impl Output {
    /// Watch for interrupts and open the writer whose output is called `shown`, in this order:
    /// an interrupt in between would end the program and leave a temporary file behind.
    pub fn open(shown: &Path, open: impl FnOnce() -> Result<WavWriter>) -> Result<Output> {
        let (state, is_file) = (Mutex::new(State::Opening), AtomicBool::new(false));
        let shared = Arc::new(Shared { state, is_file });
        let signals: Vec<i32> =
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        // Without a thread an interrupt ends the program at once, as it does by default.
        if let Ok(signals) = Signals::new(signals) {
            let shown = match shown.to_str() {
                Some("-") => "standard output".to_string(),
                _ => shown.display().to_string(),
            };
            let shared = shared.clone();
            let work = move || wait(signals, &shared, &shown);
            std::thread::Builder::new().spawn(work).map_err(|error| {
                Error::environment(format!("cannot start a thread: {}", reason(&error)))
            })?;
        }
        let output = Output { shared };
        let writer = open()?;
        output.shared.is_file.store(writer.is_file(), Ordering::Relaxed);
        *output.lock() = State::Open(writer);
        Ok(output)
    }

    /// See `WavWriter::expect`.
    pub fn expect(&mut self, samples: u64) -> Result<()> {
        with(&mut self.lock(), |writer| writer.expect(samples))
    }

    /// See `WavWriter::write`.
    pub fn write(&mut self, samples: &[f32]) -> std::result::Result<(), WriteError> {
        with(&mut self.lock(), |writer| writer.write(samples))
    }

    /// See `WavWriter::finish`.
    pub fn finish(self) -> std::result::Result<u64, WriteError> {
        match close(&mut self.lock()) {
            State::Open(writer) => writer.finish(),
            State::Opening | State::Closed => unreachable!("{NEVER_RETURNS}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // The thread that waits for signals holds the writer as well.
        drop(close(&mut self.lock()));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as an interrupt finds it; none if a write to what is not a file does not end.
    fn interrupted(&self) -> Option<MutexGuard<'_, State>> {
        let begun = Instant::now();
        loop {
            let is_enough = begun.elapsed() > PATIENCE;
            match self.state.try_lock() {
                Ok(state) if is_enough || !matches!(*state, State::Opening) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(_) if is_enough && !self.is_file.load(Ordering::Relaxed) => return None,
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

const NEVER_RETURNS: &str = "only `finish` and an interrupt, which never returns, close the output";

fn close(state: &mut State) -> State {
    std::mem::replace(state, State::Closed)
}

fn with<T>(state: &mut State, work: impl FnOnce(&mut WavWriter) -> T) -> T {
    match state {
        State::Open(writer) => work(writer),
        State::Opening | State::Closed => unreachable!("{NEVER_RETURNS}"),
    }
}

/// Complete the output at the first signal and end the program.
fn wait(mut signals: Signals, shared: &Shared, shown: &str) {
    let Some(signal) = signals.forever().next() else { return };
    // The guard is kept: nothing is written after the end of the file.
    let mut guard = shared.interrupted();
    match guard.as_deref_mut().map(close) {
        Some(State::Open(writer)) if writer.samples() > 0 => complete(writer, shown),
        Some(State::Closed) => tell("interrupted after the end of the output"),
        Some(nothing_said) => {
            drop(nothing_said);
            tell("interrupted before anything was said");
        }
        None => tell(&format!("interrupted while {shown} waited for its reader")),
    }
    // Destructors of TVM's threads could wait for work that goes on.
    signal_hook::low_level::exit(128 + signal);
}

fn complete(writer: WavWriter, shown: &str) {
    let seconds = writer.samples() as f64 / f64::from(SAMPLE_RATE);
    if let Err(WriteError::Failed(error)) = writer.finish() {
        tell(&format!("interrupted: {error}"));
    } else {
        tell(&format!("interrupted: {shown} holds the {seconds:.1} s said until then"));
    }
}

/// Whether a signal was ignored when the program started, as for a shell's background jobs.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
