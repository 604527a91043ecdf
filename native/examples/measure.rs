//! The native half of `python -m benchmarks.native`: measure ARTIFACT THREADS
//!
//! Answers with one line of JSON after the first compiled call, and one for each line of phonemes.

use std::io::BufRead;
use std::time::Instant;

use kokoro_runtime::{Error, Options, Request, Result, Synthesizer, Tensor};

/// Bytes of this process that are in no file, on Linux.
fn anonymous() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [artifact, threads] = arguments.as_slice() else {
        return Err(Error::input("usage: measure ARTIFACT THREADS"));
    };
    let threads = threads.parse().map_err(|_| Error::input("THREADS is no number"))?;
    let options = Options { threads: Some(threads), ..Options::default() };
    let synthesizer = Synthesizer::open(artifact.as_ref(), &options)?;
    let before = anonymous();
    let ids = Tensor::new(&[1, 5], &[0i64, 50, 83, 54, 0])?;
    synthesizer.call("bert_forward", vec![ids, Tensor::new(&[1], &[5i64])?])?;
    println!("{{\"anonymous\": {before}}}");
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Error::input(error.to_string()))?;
        let started = Instant::now();
        let speech = synthesizer.synthesize(&Request::new(line))?;
        let seconds = started.elapsed().as_secs_f64();
        let (samples, memory) = (speech.audio.len(), anonymous());
        println!("{{\"seconds\": {seconds}, \"samples\": {samples}, \"anonymous\": {memory}}}");
    }
    Ok(())
}
