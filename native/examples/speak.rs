//! Speak phonemes into a WAV file: speak ARTIFACT PHONEMES OUTPUT

use kokoro_runtime::audio::{Format, WavWriter, WriteError};
use kokoro_runtime::{Error, Options, Request, Result, Synthesizer};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [artifact, phonemes, output] = arguments.as_slice() else {
        return Err(Error::input("usage: speak ARTIFACT PHONEMES OUTPUT"));
    };
    let synthesizer = Synthesizer::open(artifact.as_ref(), &Options::default())?;
    let speech = synthesizer.synthesize(&Request::new(phonemes.as_str()))?;
    let mut file = WavWriter::to_file(output.as_ref(), Format::Pcm16)?;
    file.write(&speech.audio).and_then(|()| file.finish()).map_err(|error| match error {
        WriteError::Failed(error) => error,
        WriteError::Closed => Error::environment("the reader has gone"),
    })?;
    println!("wrote {output}: {} samples", speech.audio.len());
    Ok(())
}
