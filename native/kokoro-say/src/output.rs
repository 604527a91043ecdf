//! The file or pipe that is written, which an interrupt completes at any moment.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kokoro_runtime::audio::{WavWriter, WriteError};
use kokoro_runtime::{Result, SAMPLE_RATE};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

type Shared = Arc<Mutex<Option<WavWriter>>>;

/// A writer that a thread of its own completes when the program is interrupted.
///
/// What was said until then is kept as a valid file. A file of which nothing is written yet stays
/// as it was.
pub struct Output {
    writer: Shared,
}

impl Output {
    /// Take over a writer whose output is called `shown`, and watch for interrupts.
    pub fn new(writer: WavWriter, shown: &Path) -> Output {
        let writer: Shared = Arc::new(Mutex::new(Some(writer)));
        let signals: Vec<i32> =
            [SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        // Without a thread an interrupt ends the program at once, as it does by default.
        if let Ok(signals) = Signals::new(signals) {
            let (shared, shown) = (writer.clone(), shown.display().to_string());
            std::thread::spawn(move || wait(signals, &shared, &shown));
        }
        Output { writer }
    }

    /// See `WavWriter::expect`.
    pub fn expect(&mut self, samples: u64) -> Result<()> {
        with(&mut lock(&self.writer), |writer| writer.expect(samples))
    }

    /// See `WavWriter::write`.
    pub fn write(&mut self, samples: &[f32]) -> std::result::Result<(), WriteError> {
        with(&mut lock(&self.writer), |writer| writer.write(samples))
    }

    /// See `WavWriter::finish`.
    pub fn finish(self) -> std::result::Result<u64, WriteError> {
        lock(&self.writer).take().expect("an interrupt never returns").finish()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // The thread that waits for signals holds the writer as well.
        drop(lock(&self.writer).take());
    }
}

fn lock(writer: &Shared) -> MutexGuard<'_, Option<WavWriter>> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(writer: &mut Option<WavWriter>, work: impl FnOnce(&mut WavWriter) -> T) -> T {
    work(writer.as_mut().expect("only `finish` and an interrupt, which never returns, take it"))
}

/// Complete the output at the first signal and end the program.
fn wait(mut signals: Signals, writer: &Shared, shown: &str) {
    let Some(signal) = signals.forever().next() else { return };
    // The guard is kept: nothing is written after the end of the file.
    let mut guard = lock(writer);
    let Some(writer) = guard.take() else { return }; // all is said, and the program ends
    let samples = writer.samples();
    if samples == 0 {
        drop(writer);
        eprintln!("kokoro-say: interrupted before anything was said");
    } else if let Err(WriteError::Failed(error)) = writer.finish() {
        eprintln!("kokoro-say: interrupted: {error}");
    } else {
        let seconds = samples as f64 / f64::from(SAMPLE_RATE);
        eprintln!("kokoro-say: interrupted: {shown} holds the {seconds:.1} s said until then");
    }
    // Destructors of TVM's threads could wait for work that goes on.
    signal_hook::low_level::exit(128 + signal);
}

/// Whether a signal was ignored when the program started, as for a shell's background jobs.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
