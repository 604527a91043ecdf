//! Checking the arguments of compiled functions before a kernel runs.
//!
//! Kernels do not check anything: with a wrong shape they read beyond a buffer, and with an id out
//! of range beyond the table.

use std::collections::BTreeMap;

use crate::artifact::manifest::{Dimension, FunctionSpec, TensorSpec};
use crate::errors::{Error, Result};
use crate::tvm::Tensor;
use crate::MAX_TOKENS;

/// Frames per chunk at most: longer than any speech of 510 phonemes, and gigabytes of buffers.
pub const MAX_FRAMES: usize = 8192;

/// The values of a call's symbols, such as n and t.
pub type Symbols = BTreeMap<String, i64>;

/// Check the arguments of a call; the values of the symbols in their shapes.
pub fn check(name: &str, spec: &FunctionSpec, inputs: &[Tensor], n_token: i64) -> Result<Symbols> {
    if inputs.len() != spec.inputs.len() {
        let names: Vec<&str> = spec.inputs.iter().map(|tensor| tensor.name.as_str()).collect();
        return Err(Error::input(format!(
            "{name} takes {} tensors ({}), got {}",
            spec.inputs.len(),
            names.join(", "),
            inputs.len()
        )));
    }
    let mut symbols = Symbols::new();
    for (index, (expected, tensor)) in spec.inputs.iter().zip(inputs).enumerate() {
        let argument = format!("{name}: argument {index} '{}'", expected.name);
        if tensor.dtype() != expected.dtype {
            return Err(Error::input(format!(
                "{argument} is {}, expected {}",
                tensor.dtype(),
                expected.dtype
            )));
        }
        if !bind(&expected.shape, tensor.shape(), &mut symbols) {
            return Err(Error::input(format!(
                "{argument} has shape {:?}, expected {}{}",
                tensor.shape(),
                describe(expected),
                bound(&symbols)
            )));
        }
    }
    for (symbol, limit) in [("n", MAX_TOKENS), ("t", MAX_FRAMES)] {
        if let Some(value) = symbols.get(symbol).filter(|value| **value > limit as i64) {
            return Err(Error::input(format!(
                "{name}: {symbol}={value} is over the limit of {limit}"
            )));
        }
    }
    for (expected, tensor) in spec.inputs.iter().zip(inputs) {
        let range = match expected.name.as_str() {
            "input_ids" => 0..=n_token - 1,
            "lengths" => 1..=symbols.get("n").copied().unwrap_or(0),
            _ => continue,
        };
        let values = tensor.values::<i64>()?;
        if let Some(place) = values.iter().position(|value| !range.contains(value)) {
            return Err(Error::input(format!(
                "{name}: argument '{}' is {} at {place}, expected values from {} to {}",
                expected.name,
                values[place],
                range.start(),
                range.end()
            )));
        }
    }
    Ok(symbols)
}

/// Check that a call returned what the manifest says.
pub fn check_outputs(
    name: &str,
    spec: &FunctionSpec,
    outputs: &[Tensor],
    symbols: &Symbols,
) -> Result<()> {
    let right = outputs.len() == spec.outputs.len()
        && spec.outputs.iter().zip(outputs).all(|(expected, tensor)| {
            tensor.dtype() == expected.dtype
                && evaluate(&expected.shape, symbols).as_deref() == Some(tensor.shape())
        });
    if right {
        return Ok(());
    }
    let got: Vec<String> =
        outputs.iter().map(|tensor| format!("{} {:?}", tensor.dtype(), tensor.shape())).collect();
    let expected: Vec<String> = spec.outputs.iter().map(describe).collect();
    Err(Error::artifact(format!(
        "{name} returned {} where the manifest has {}: library and manifest do not belong \
         together; build the artifact anew",
        got.join(", "),
        expected.join(", ")
    )))
}

fn bind(expected: &[Dimension], got: &[i64], symbols: &mut Symbols) -> bool {
    expected.len() == got.len()
        && expected.iter().zip(got).all(|(dimension, &size)| match dimension {
            Dimension::Fixed(fixed) => i64::try_from(*fixed) == Ok(size),
            Dimension::Affine { factor, symbol, rest } => {
                let (Ok(factor), Ok(rest)) = (i64::try_from(*factor), i64::try_from(*rest)) else {
                    return false;
                };
                let scaled = size - rest;
                if scaled < factor || scaled % factor != 0 {
                    return false;
                }
                *symbols.entry(symbol.clone()).or_insert(scaled / factor) == scaled / factor
            }
        })
}

fn evaluate(shape: &[Dimension], symbols: &Symbols) -> Option<Vec<i64>> {
    shape
        .iter()
        .map(|dimension| match dimension {
            Dimension::Fixed(size) => i64::try_from(*size).ok(),
            Dimension::Affine { factor, symbol, rest } => i64::try_from(*factor)
                .ok()?
                .checked_mul(*symbols.get(symbol)?)?
                .checked_add(i64::try_from(*rest).ok()?),
        })
        .collect()
}

fn describe(tensor: &TensorSpec) -> String {
    let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
    format!("{}[{}] {}", tensor.name, sizes.join(", "), tensor.dtype)
}

fn bound(symbols: &Symbols) -> String {
    if symbols.is_empty() {
        return String::new();
    }
    let values: Vec<String> =
        symbols.iter().map(|(symbol, value)| format!("{symbol}={value}")).collect();
    format!(" with {}", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::manifest::affine;

    fn shape(text: &str) -> Vec<Dimension> {
        let dimension = |part: &str| match part.parse() {
            Ok(size) => Dimension::Fixed(size),
            Err(_) => affine(part).unwrap(),
        };
        text.split(',').map(dimension).collect()
    }

    #[test]
    fn shapes_bind_symbols_and_contradict() {
        let table: &[(&str, &[i64], Option<i64>)] = &[
            ("1,512,t", &[1, 512, 7], Some(7)),
            ("1,2*t", &[1, 14], Some(7)),
            ("1,22,120*t+1", &[1, 22, 841], Some(7)),
            ("1,2*t", &[1, 15], None),
            ("1,120*t+1", &[1, 1], None),
            ("1,t", &[1, 0], None),
            ("1,t", &[2, 3], None),
            ("t,t", &[3, 4], None),
            ("t", &[3, 4], None),
        ];
        for (expected, got, t) in table {
            let mut symbols = Symbols::new();
            let fits = bind(&shape(expected), got, &mut symbols);
            assert_eq!(fits.then(|| symbols["t"]), *t, "{expected} {got:?}");
        }
        let symbols = Symbols::from([("t".to_string(), 7)]);
        assert_eq!(evaluate(&shape("1,22,120*t+1"), &symbols), Some(vec![1, 22, 841]));
        assert_eq!(evaluate(&shape("n"), &symbols), None);
    }
}
