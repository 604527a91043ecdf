//! Synthesis of one chunk of at most 510 phonemes with the six compiled functions.

use super::alignment::{frames_per_token, spread_columns, spread_rows};
use crate::engine::functions::MAX_FRAMES;
use crate::errors::{Error, Result};
use crate::tvm::Tensor;
use crate::{BOUNDARY_TOKEN, SAMPLES_PER_FRAME, SAMPLE_RATE, STYLE_DIM};

/// Calls a compiled function by name.
pub type Call<'a> = &'a dyn Fn(&str, Vec<Tensor>) -> Result<Vec<Tensor>>;

/// The length of every token of a chunk, and what its audio is rendered from.
pub struct Timing {
    /// Frames of each token, the boundary tokens included, at least 1 each.
    pub frames: Vec<i64>,
    input_ids: Tensor,
    lengths: Tensor,
    predictor_style: Tensor,
    d: Tensor,
}

impl Timing {
    /// Number of frames of the chunk.
    pub fn total_frames(&self) -> usize {
        self.frames.iter().sum::<i64>() as usize
    }
}

const REMEDY: &str = "check the artifact with: kokoro-pipeline verify DIR, and its weights with: \
                      kokoro-pipeline validate DIR";

/// Predict the durations of 1 to 510 tokens in a style of 256 values.
pub fn predict_timing(call: Call, ids: &[i64], style: &[f32], speed: f64) -> Result<Timing> {
    let mut tokens = vec![BOUNDARY_TOKEN];
    tokens.extend(ids);
    tokens.push(BOUNDARY_TOKEN);
    let n = tokens.len() as i64;
    let input_ids = Tensor::new(&[1, n], &tokens)?;
    let lengths = Tensor::new(&[1], &[n])?;
    let predictor_style = Tensor::new(&[1, STYLE_DIM as i64], &style[STYLE_DIM..])?;
    let [d_en] = outputs(call("bert_forward", vec![input_ids.clone(), lengths.clone()])?)?;
    let inputs = vec![d_en, predictor_style.clone(), lengths.clone()];
    let [duration, d] = outputs(call("duration_forward", inputs)?)?;
    let frames = frames_per_token(duration.values()?, speed as f32).ok_or_else(|| {
        Error::artifact(format!(
            "duration_forward predicted a duration that is not finite; {REMEDY}"
        ))
    })?;
    let total = frames.iter().fold(0i64, |sum, &count| sum.saturating_add(count));
    if total > MAX_FRAMES as i64 {
        return Err(Error::input(format!(
            "{} phonemes at speed {speed} last {total} frames ({} s), over the limit of \
             {MAX_FRAMES} for one chunk; use a higher speed or synthesize fewer phonemes at once",
            ids.len(),
            (total as f64 * SAMPLES_PER_FRAME as f64 / f64::from(SAMPLE_RATE)).round()
        )));
    }
    Ok(Timing { frames, input_ids, lengths, predictor_style, d })
}

/// Render a timed chunk as 600 samples a frame, with the noise of a key.
pub fn render_audio(
    call: Call,
    timing: &Timing,
    style: &[f32],
    noise_key: [i64; 2],
) -> Result<Tensor> {
    let t = timing.total_frames() as i64;
    let decoder_style = Tensor::new(&[1, STYLE_DIM as i64], &style[..STYLE_DIM])?;
    let inputs = vec![timing.input_ids.clone(), timing.lengths.clone()];
    let [t_en] = outputs(call("text_encoder_forward", inputs)?)?;
    let (d, t_en) = (timing.d.values()?, t_en.values()?);
    let channels = |features: &[f32]| (features.len() / timing.frames.len()) as i64;
    let en = Tensor::filled(&[1, channels(d), t], |out| spread_rows(d, &timing.frames, out))?;
    let asr =
        Tensor::filled(&[1, channels(t_en), t], |out| spread_columns(t_en, &timing.frames, out))?;
    let [f0, energy] = outputs(call("f0n_forward", vec![en, timing.predictor_style.clone()])?)?;
    let clock = Tensor::new(&[t], &vec![0i64; t as usize])?;
    let [noise] = outputs(call("noise_forward", vec![clock, Tensor::new(&[2], &noise_key)?])?)?;
    let [har] = outputs(call("source_forward", vec![f0.clone(), noise])?)?;
    let inputs = vec![asr, f0, energy, decoder_style, har];
    let [audio] = outputs(call("decoder_forward", inputs)?)?;
    if !audio.values::<f32>()?.iter().all(|sample| sample.is_finite()) {
        return Err(Error::artifact(format!(
            "decoder_forward returned samples that are not finite; {REMEDY}"
        )));
    }
    Ok(audio)
}

fn outputs<const N: usize>(tensors: Vec<Tensor>) -> Result<[Tensor; N]> {
    tensors.try_into().map_err(|tensors: Vec<Tensor>| {
        Error::artifact(format!(
            "a compiled function returns {} tensors where {N} are needed; build the artifact anew",
            tensors.len()
        ))
    })
}
