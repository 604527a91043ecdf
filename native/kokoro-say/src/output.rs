//! The file or pipe that is written, which an interrupt completes at any moment.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kokoro_runtime::audio::{WavWriter, WriteError};
use kokoro_runtime::{Result, SAMPLE_RATE};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long an interrupt waits for a file that is just being created. A pipe without a reader
/// takes as long as it likes to open, and nothing is lost when that is given up.
const OPENING: Duration = Duration::from_millis(200);

enum State {
    Opening,
    Open(WavWriter),
    Closed,
}

struct Shared {
    state: Mutex<State>,
    opened: Condvar,
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
        let shared = Arc::new(Shared { state: Mutex::new(State::Opening), opened: Condvar::new() });
        let signals: Vec<i32> =
            [SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        // Without a thread an interrupt ends the program at once, as it does by default.
        if let Ok(signals) = Signals::new(signals) {
            let (shared, shown) = (shared.clone(), shown.display().to_string());
            std::thread::spawn(move || wait(signals, &shared, &shown));
        }
        let output = Output { shared };
        let writer = open()?;
        *output.lock() = State::Open(writer);
        output.shared.opened.notify_all();
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
    let opening = |state: &mut State| matches!(state, State::Opening);
    let (mut guard, _) = shared
        .opened
        .wait_timeout_while(shared.lock(), OPENING, opening)
        .unwrap_or_else(PoisonError::into_inner);
    match close(&mut guard) {
        State::Closed => return, // all is said, and the program ends
        State::Open(writer) if writer.samples() > 0 => complete(writer, shown),
        nothing_said => {
            drop(nothing_said);
            eprintln!("kokoro-say: interrupted before anything was said");
        }
    }
    // Destructors of TVM's threads could wait for work that goes on.
    signal_hook::low_level::exit(128 + signal);
}

fn complete(writer: WavWriter, shown: &str) {
    let seconds = writer.samples() as f64 / f64::from(SAMPLE_RATE);
    if let Err(WriteError::Failed(error)) = writer.finish() {
        eprintln!("kokoro-say: interrupted: {error}");
    } else {
        eprintln!("kokoro-say: interrupted: {shown} holds the {seconds:.1} s said until then");
    }
}

/// Whether a signal was ignored when the program started, as for a shell's background jobs.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
