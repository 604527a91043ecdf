//! The model's configuration, `config.json`.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::errors::{reason, Error, Result};

/// What running needs of a configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Token ids by symbol, which is one code point.
    pub vocabulary: HashMap<char, i64>,
    /// Size of the token table; ids are below it.
    pub n_token: i64,
}

/// Read a configuration. Fails if it cannot be read, is not JSON, lacks a key, or has ids
/// beyond the token table.
pub fn load(path: &Path) -> Result<Config> {
    let text = std::fs::read(path).map_err(|error| unreadable(path, &reason(&error)))?;
    parse(&text, path)
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::input(format!("cannot read the model configuration {}: {why}", path.display()))
}

fn parse(text: &[u8], path: &Path) -> Result<Config> {
    let value: Value =
        serde_json::from_slice(text).map_err(|error| unreadable(path, &error.to_string()))?;
    let missing: Vec<&str> = ["vocab", "n_token", "plbert", "istftnet"]
        .into_iter()
        .filter(|key| value.get(key).is_none())
        .collect();
    let not_one = |what: &str| {
        Error::input(format!("{} is not a Kokoro configuration: {what}", path.display()))
    };
    if !missing.is_empty() {
        return Err(not_one(&format!("it lacks {}", missing.join(", "))));
    }
    let n_token = value["n_token"].as_i64().ok_or_else(|| not_one("n_token is no number"))?;
    if n_token < 1 {
        return Err(not_one(&format!("n_token is {n_token}")));
    }
    let vocab = value["vocab"].as_object().ok_or_else(|| not_one("vocab is no object"))?;
    let vocabulary = vocab
        .iter()
        .map(|(symbol, id)| {
            let mut letters = symbol.chars();
            match (letters.next(), letters.next(), id.as_i64()) {
                // Compiled code looks ids up in a table without a check.
                (Some(_), None, Some(id)) if !(0..n_token).contains(&id) => {
                    Err(not_one(&format!("the id of {symbol:?} is {id}, not below {n_token}")))
                }
                (Some(letter), None, Some(id)) => Ok((letter, id)),
                (_, _, None) => Err(not_one(&format!("the id of {symbol:?} is {id}"))),
                _ => Err(not_one(&format!("the symbol {symbol:?} is not one code point"))),
            }
        })
        .collect::<Result<_>>()?;
    Ok(Config { vocabulary, n_token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_of_another_type_is_refused() {
        let table = [
            ("", "cannot read"),
            ("[]", "lacks vocab, n_token, plbert, istftnet"),
            (r#"{"vocab":{},"n_token":1,"plbert":{}}"#, "lacks istftnet"),
            (r#"{"vocab":{"ab":1},"n_token":1,"plbert":0,"istftnet":0}"#, "not one code point"),
            (r#"{"vocab":{"a":"b"},"n_token":1,"plbert":0,"istftnet":0}"#, "the id of"),
            (r#"{"vocab":[],"n_token":1,"plbert":0,"istftnet":0}"#, "vocab is no object"),
            (r#"{"vocab":{},"n_token":0,"plbert":0,"istftnet":0}"#, "n_token is 0"),
            (r#"{"vocab":{"a":-1},"n_token":3,"plbert":0,"istftnet":0}"#, "is -1, not below 3"),
            (r#"{"vocab":{"a":3},"n_token":3,"plbert":0,"istftnet":0}"#, "is 3, not below 3"),
            (r#"{"vocab":{},"n_token":1.5,"plbert":0,"istftnet":0}"#, "n_token is no number"),
        ];
        for (text, cause) in table {
            let error = parse(text.as_bytes(), "config.json".as_ref()).unwrap_err().to_string();
            assert!(error.contains(cause), "{text}: {error}");
        }
        let right = r#"{"vocab":{"a":1,"̃":2},"n_token":3,"plbert":0,"istftnet":0}"#;
        let config = parse(right.as_bytes(), "config.json".as_ref()).unwrap();
        assert_eq!(config.vocabulary[&'\u{303}'], 2);
    }
}
