//! Speaking: phonemes from an option or from standard input, audio to a file or standard output.

use std::ffi::OsStr;
use std::io::BufRead;
use std::path::Path;

use kokoro_runtime::audio::{Format, WavWriter};
use kokoro_runtime::speech::synthesizer::describe_unknown;
use kokoro_runtime::{reason, text, Error, Options, Plan, Request, Result, Synthesizer};

use crate::output::Output;
use crate::{artifact_folder, exit, streams, tell, Failure, Outcome, SayArgs};

const NOT_SPEECH: &str = "the artifact holds SYNTHETIC weights: what was written is NOT SPEECH. \
                          For speech: kokoro-pipeline build --weights hexgrad/Kokoro-82M -o DIR";

/// Speak. Invalid arguments are refused before the artifact is opened.
pub fn run(args: &SayArgs) -> Outcome {
    let Some(output) = &args.output else {
        return Err(Failure::Usage("where to? name a WAV file with -o FILE, or -o -".into()));
    };
    let given = match &args.phonemes {
        None if args.stdin => {
            streams::require_input()?;
            None
        }
        None => {
            return Err(Failure::Usage(
                "what is to be said? give --phonemes TEXT or --stdin".into(),
            ))
        }
        Some(phonemes) => Some(read_phonemes(phonemes)?),
    };
    let folder = artifact_folder(&args.artifact)?;
    let voice = valid(&args.voice, "the voice is", "rename the file")?;
    let request = |phonemes: String| Request {
        phonemes,
        voice: voice.to_string(),
        speed: args.speed,
        seed: args.seed.clone(),
    };
    // A line is checked when it comes; what holds for all of them, now.
    request(given.clone().unwrap_or_else(|| "a".to_string())).check()?;
    let writer = Output::open(output, || open_output(output, args.floating))?;
    let options = Options { threads: args.threads, device: args.device.clone() };
    let synthesizer = Synthesizer::open(&folder, &options)?;
    let clipped = match given {
        Some(phonemes) => speak_once(&synthesizer, &request(phonemes), writer)?,
        None => speak_lines(&synthesizer, request, writer)?,
    };
    if clipped > 0 {
        warn(&format!("{clipped} samples were louder than full scale and are clipped"));
    }
    if synthesizer.synthetic() {
        warn(NOT_SPEECH);
    }
    Ok(exit::OK)
}

fn warn(text: &str) {
    tell(&format!("warning: {text}"));
}

fn valid<'a>(given: &'a OsStr, what: &str, remedy: &str) -> Result<&'a str> {
    given.to_str().ok_or_else(|| Error::input(format!("{what} not valid UTF-8: {remedy}")))
}

fn read_phonemes(given: &OsStr) -> Result<String> {
    // Ends of lines are not phonemes; all other characters are kept.
    let phonemes =
        text::join_lines(valid(given, "the phonemes are", "check the terminal's encoding")?);
    if phonemes.chars().all(text::is_space) {
        return Err(Error::input("there is nothing to say: the phonemes are empty"));
    }
    Ok(phonemes)
}

fn open_output(output: &Path, floating: bool) -> Result<WavWriter> {
    let format = if floating { Format::Float32 } else { Format::Pcm16 };
    if output == Path::new("-") {
        streams::require_output()?;
        WavWriter::to_stdout(format)
    } else {
        WavWriter::to_file(output, format)
    }
}

/// The lengths of all chunks are predicted first, so that even a pipe gets a complete header.
fn speak_once(
    synthesizer: &Synthesizer,
    request: &Request,
    mut writer: Output,
) -> std::result::Result<u64, Failure> {
    let plan = plan(synthesizer, request, "")?;
    writer.expect(plan.samples() as u64)?;
    render(synthesizer, &plan, &mut writer)?;
    Ok(writer.finish()?)
}

fn speak_lines(
    synthesizer: &Synthesizer,
    request: impl Fn(String) -> Request,
    mut writer: Output,
) -> std::result::Result<u64, Failure> {
    let mut spoken = false;
    let mut input = std::io::stdin().lock();
    for number in 1.. {
        let mut line = Vec::new();
        let count = input.read_until(b'\n', &mut line).map_err(|error| {
            Error::input(format!("cannot read standard input: {}", reason(&error)))
        })?;
        if count == 0 {
            break;
        }
        let bytes =
            if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
        let place = format!("line {number} of standard input");
        let phonemes = std::str::from_utf8(bytes)
            .map_err(|error| Error::input(format!("{place} is not UTF-8: {error}")))?;
        let phonemes = text::join_lines(phonemes);
        if phonemes.chars().all(text::is_space) {
            continue;
        }
        spoken = true;
        let plan = plan(synthesizer, &request(phonemes), &format!("{place}: "))?;
        render(synthesizer, &plan, &mut writer)?;
    }
    if !spoken {
        return Err(Error::input("there is nothing to say: the phonemes are empty").into());
    }
    Ok(writer.finish()?)
}

/// `place` is what messages begin with.
fn plan(synthesizer: &Synthesizer, request: &Request, place: &str) -> Result<Plan> {
    let plan = synthesizer.plan(request).map_err(|error| error.after(place))?;
    if !plan.unknown.is_empty() {
        warn(&format!("{place}{}", describe_unknown(&plan.unknown)));
    }
    Ok(plan)
}

fn render(
    synthesizer: &Synthesizer,
    plan: &Plan,
    writer: &mut Output,
) -> std::result::Result<(), Failure> {
    for index in 0..plan.chunks() {
        writer.write(synthesizer.render(plan, index)?.values()?)?;
    }
    Ok(())
}
