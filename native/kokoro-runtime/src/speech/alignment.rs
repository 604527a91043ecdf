//! From predicted durations to frames: the length of each token, and the token of each frame.

/// Frames of each token from `duration`, 50 values a token: `max(rint(sum / speed), 1)` in float32
/// with halves rounded to even. None if a length is not finite.
pub fn frames_per_token(duration: &[f32], speed: f32) -> Option<Vec<i64>> {
    duration
        .chunks_exact(50)
        .map(|row| {
            let length = sum(row) / speed;
            length.is_finite().then(|| length.round_ties_even().max(1.0) as i64)
        })
        .collect()
}

/// numpy's sum of at most 128 float32 values: eight running sums, then what is left over.
fn sum(values: &[f32]) -> f32 {
    let (blocks, rest) = values.split_at(values.len() / 8 * 8);
    let mut blocks = blocks.chunks_exact(8);
    let first = blocks.next().unwrap_or(&[0.0; 8]);
    let mut sums = [0f32; 8];
    sums.copy_from_slice(first);
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

/// Repeat the columns of row-major [tokens, channels] over frames: row-major [channels, frames].
pub fn spread_rows(features: &[f32], frames: &[i64], out: &mut [f32]) {
    let channels = features.len() / frames.len();
    spread(frames, channels, |token, channel| features[token * channels + channel], out);
}

/// Repeat the columns of row-major [channels, tokens] over frames: row-major [channels, frames].
pub fn spread_columns(features: &[f32], frames: &[i64], out: &mut [f32]) {
    let tokens = frames.len();
    let channels = features.len() / tokens;
    spread(frames, channels, |token, channel| features[channel * tokens + token], out);
}

fn spread(frames: &[i64], channels: usize, value: impl Fn(usize, usize) -> f32, out: &mut [f32]) {
    let total = out.len() / channels;
    for (channel, row) in out.chunks_exact_mut(total).enumerate() {
        let mut rest = row;
        for (token, &count) in frames.iter().enumerate() {
            let (here, after) = rest.split_at_mut(count as usize);
            here.fill(value(token, channel));
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_repeated_over_frames() {
        let (frames, mut out) = ([2, 1], [0.0; 6]);
        spread_rows(&[1.0, 2.0, 3.0, 4.0], &frames, &mut out);
        assert_eq!(out, [1.0, 1.0, 3.0, 2.0, 2.0, 4.0]);
        spread_columns(&[1.0, 2.0, 3.0, 4.0], &frames, &mut out);
        assert_eq!(out, [1.0, 1.0, 2.0, 3.0, 3.0, 4.0]);
    }

    #[test]
    fn lengths_that_are_not_finite_are_told() {
        assert_eq!(frames_per_token(&[f32::NAN; 50], 1.0), None);
        assert_eq!(frames_per_token(&[f32::MAX; 50], 1.0), None);
        assert_eq!(frames_per_token(&[0.0; 50], 1.0), Some(vec![1]));
    }
}
