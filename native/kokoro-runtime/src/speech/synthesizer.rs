//! Speech synthesis from an artifact.

use std::path::Path;
use std::sync::Arc;

use super::chunk::{predict_timing, render_audio, Timing};
use super::noise::{noise_key, Seed};
use super::request::Request;
use crate::artifact::{self, config, Artifact, Manifest};
use crate::engine::device::{check_device, Device};
use crate::engine::dispatcher::Dispatcher;
use crate::engine::executable::Executable;
use crate::engine::{functions, threads};
use crate::errors::{Error, Result};
use crate::libraries;
use crate::text::splitting::split;
use crate::text::{UnknownSymbol, Vocabulary};
use crate::tvm::Tensor;
use crate::{MAX_PHONEMES, SAMPLES_PER_FRAME};

/// The compiled functions that synthesis needs.
const FUNCTIONS: [&str; 7] = [
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "source_forward",
    "decoder_forward",
    "noise_forward",
];

/// A function of artifacts that were built from the graph in an ONNX file.
const GRAPH: &str = "graph_speech";

/// How an artifact is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The number of CPU threads that kernels use: by default `$TVM_NUM_THREADS`, else all CPUs.
    /// Results are the same for any number.
    pub threads: Option<usize>,
    /// Where it runs.
    pub device: Device,
}

/// A whole utterance.
#[derive(Clone, Debug)]
pub struct Speech {
    /// Mono samples at 24 kHz, about -1 to 1.
    pub audio: Vec<f32>,
    /// Frames (600 samples) of each token, the two boundary tokens of each chunk included.
    pub durations: Vec<i64>,
    /// Symbols that are not in the model's vocabulary and were not spoken.
    pub unknown: Vec<UnknownSymbol>,
}

/// The tokens of a chunk, and its style vector.
struct Chunk {
    ids: Vec<i64>,
    style: Vec<f32>,
}

/// A request in timed chunks, ready to be rendered one after another.
pub struct Plan {
    chunks: Vec<(Timing, Vec<f32>)>,
    seed: Seed,
    /// Symbols that are not in the model's vocabulary and will not be spoken.
    pub unknown: Vec<UnknownSymbol>,
}

impl Plan {
    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The number of samples of the whole utterance.
    pub fn samples(&self) -> usize {
        self.chunks.iter().map(|(timing, _)| timing.total_frames() * SAMPLES_PER_FRAME).sum()
    }

    /// Frames of each token of all chunks.
    pub fn durations(&self) -> Vec<i64> {
        self.chunks.iter().flat_map(|(timing, _)| timing.frames.iter().copied()).collect()
    }
}

/// A loaded artifact.
///
/// It may be shared by threads, whose calls take turns. It owns threads, which end when it is
/// dropped. It cannot be used after a fork: calls in the child process fail.
pub struct Synthesizer {
    artifact: Arc<Artifact>,
    dispatcher: Dispatcher<Executable>,
    vocabulary: Vocabulary,
    n_token: i64,
    threads: usize,
}

impl Synthesizer {
    /// Open an artifact folder, which contains code: open only what you trust.
    ///
    /// Fails if the folder is not an artifact, is damaged, or was made for another TVM, CPU or
    /// device, and if TVM's libraries are missing.
    pub fn open(folder: &Path, options: &Options) -> Result<Synthesizer> {
        let threads = threads::resolve(options.threads)?;
        let (artifact, found) = artifact::open(folder)?;
        check_device(&options.device, &artifact.manifest.target, &folder.display().to_string())?;
        let config = config::load(&artifact.config())?;
        libraries::load(&found)?;
        let artifact = Arc::new(artifact);
        let shared = Arc::clone(&artifact);
        let dispatcher = Dispatcher::start(move || Executable::start(&shared, threads))?;
        Ok(Synthesizer {
            artifact,
            dispatcher,
            vocabulary: Vocabulary::new(config.vocabulary),
            n_token: config.n_token,
            threads,
        })
    }

    /// The manifest of the artifact.
    pub fn manifest(&self) -> &Manifest {
        &self.artifact.manifest
    }

    /// The number of CPU threads that kernels use.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whether the weights are synthetic, so that the output is not speech.
    pub fn synthetic(&self) -> bool {
        self.artifact.manifest.weights.synthetic
    }

    /// Call a compiled function with tensors, which are checked against the manifest.
    pub fn call(&self, name: &str, inputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let manifest = &self.artifact.manifest;
        let spec = manifest.functions.get(name).ok_or_else(|| {
            let known: Vec<&str> = manifest.functions.keys().map(String::as_str).collect();
            Error::input(format!("there is no function {name}; there are {}", known.join(", ")))
        })?;
        let symbols = functions::check(name, spec, &inputs, self.n_token)?;
        let (function, given) = (name.to_string(), symbols.clone());
        let outputs =
            self.dispatcher.run(move |executable| executable.call(&function, given, &inputs))?;
        functions::check_outputs(name, spec, &outputs, &symbols)?;
        Ok(outputs)
    }

    /// Synthesize a whole utterance.
    ///
    /// Input of more than 510 phonemes is split at sentences, clauses or words. Symbols outside the
    /// vocabulary are not spoken.
    pub fn synthesize(&self, request: &Request) -> Result<Speech> {
        let plan = self.plan(request)?;
        let mut audio = Vec::with_capacity(plan.samples());
        for index in 0..plan.chunks() {
            audio.extend_from_slice(self.render(&plan, index)?.values()?);
        }
        Ok(Speech { audio, durations: plan.durations(), unknown: plan.unknown })
    }

    /// Synthesize an utterance and pass on the samples of each chunk when it is ready, in order.
    ///
    /// The length of a chunk is predicted when its turn comes, so that the first one does not wait
    /// for those of a long text. Ends early, with false, when `pass_on` returns false.
    pub fn stream(
        &self,
        request: &Request,
        mut pass_on: impl FnMut(&[f32]) -> bool,
    ) -> Result<bool> {
        let (chunks, _) = self.chunks(request)?;
        for (index, chunk) in chunks.iter().enumerate() {
            let timing = self.time(chunk, request.speed)?;
            let audio = self.render_timed(&timing, &chunk.style, &request.seed, index)?;
            if !pass_on(audio.values()?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Split a request into chunks and predict their lengths, which takes about a tenth of the
    /// time of synthesis.
    pub fn plan(&self, request: &Request) -> Result<Plan> {
        let (chunks, unknown) = self.chunks(request)?;
        let timed = chunks
            .into_iter()
            .map(|chunk| Ok((self.time(&chunk, request.speed)?, chunk.style)))
            .collect::<Result<_>>()?;
        Ok(Plan { chunks: timed, seed: request.seed.clone(), unknown })
    }

    /// The chunks of a request, and the symbols that are not in the vocabulary.
    fn chunks(&self, request: &Request) -> Result<(Vec<Chunk>, Vec<UnknownSymbol>)> {
        self.require_functions()?;
        request.check()?;
        let phonemes: Vec<char> = request.phonemes.chars().collect();
        let spans = split(&phonemes, &self.vocabulary, MAX_PHONEMES);
        let pack = request.pack(&self.artifact)?;
        let mut chunks = Vec::new();
        let mut unknown = Vec::new();
        for span in spans {
            let symbols = &phonemes[span.clone()];
            let (ids, not_known) = self.vocabulary.encode(symbols, span.start);
            unknown.extend(not_known);
            // Unknown symbols count for the style, as in kokoro.
            chunks.push(Chunk { ids, style: pack.style(symbols.len()).to_vec() });
        }
        let spoken =
            |symbol: &char| self.vocabulary.contains(*symbol) && !crate::text::is_space(*symbol);
        if !phonemes.iter().any(spoken) {
            return Err(Error::input(format!(
                "there is nothing to say: {}",
                describe_unknown(&unknown)
            )));
        }
        Ok((chunks, unknown))
    }

    fn time(&self, chunk: &Chunk, speed: f64) -> Result<Timing> {
        predict_timing(&|name, inputs| self.call(name, inputs), &chunk.ids, &chunk.style, speed)
    }

    /// Render a chunk of a plan, as a tensor of 32-bit floats.
    pub fn render(&self, plan: &Plan, index: usize) -> Result<Tensor> {
        let (timing, style) = &plan.chunks[index];
        self.render_timed(timing, style, &plan.seed, index)
    }

    fn render_timed(
        &self,
        timing: &Timing,
        style: &[f32],
        seed: &Seed,
        index: usize,
    ) -> Result<Tensor> {
        let key = noise_key(seed, index as u32);
        render_audio(&|name, inputs| self.call(name, inputs), timing, style, key)
    }

    fn require_functions(&self) -> Result<()> {
        let known = &self.artifact.manifest.functions;
        let missing: Vec<&str> =
            FUNCTIONS.into_iter().filter(|name| !known.contains_key(*name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if known.contains_key(GRAPH) {
            return Err(Error::artifact(format!(
                "{} was built from the graph in an ONNX file, which the native runtime does not \
                 speak with: use kokoro-pipeline say, or build from a checkpoint with: \
                 kokoro-pipeline build -o DIR",
                self.artifact.path.display()
            )));
        }
        Err(Error::artifact(format!(
            "{} has no {}: it was built with --components; build the whole with: kokoro-pipeline \
             build -o DIR",
            self.artifact.path.display(),
            missing.join(", ")
        )))
    }
}

/// A sentence that names the symbols that are not in the vocabulary.
pub fn describe_unknown(unknown: &[UnknownSymbol]) -> String {
    let count = match unknown.len() {
        1 => "1 symbol is".to_string(),
        more => format!("{more} symbols are"),
    };
    let first: Vec<String> = unknown.iter().take(5).map(ToString::to_string).collect();
    let rest = match unknown.len().saturating_sub(5) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{count} not in the model's vocabulary and left unspoken: {}{rest}", first.join(", "))
}
