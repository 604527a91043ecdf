//! The table of vectors that the Python package is tested against too.

use std::path::Path;

use kokoro_runtime::artifact::{config, manifest::hex};
use kokoro_runtime::speech::alignment::frames_per_token;
use kokoro_runtime::speech::noise::{noise_key, Seed};
use kokoro_runtime::text::{splitting::split, Vocabulary};
use kokoro_runtime::{audio, voices};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn table(subject: &str) -> Vec<Value> {
    let text = std::fs::read(root().join("tests/native/vectors.json")).unwrap();
    let table: Value = serde_json::from_slice(&text).unwrap();
    let rows = table[subject].as_array().unwrap().clone();
    assert!(!rows.is_empty());
    rows
}

fn numbers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
}

fn floats(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

fn hash(values: &[f32]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    hex(&Sha256::digest(bytes))
}

#[test]
fn noise_keys() {
    for row in table("noise_keys") {
        let seed: Seed = row["seed"].as_str().unwrap().parse().unwrap();
        let key = noise_key(&seed, row["chunk"].as_u64().unwrap() as u32);
        assert_eq!(key.to_vec(), numbers(&row["key"]), "{row}");
    }
}

#[test]
fn splitting() {
    let config = config::load(&root().join("kokoro_pipeline/data/config.json")).unwrap();
    let vocabulary = Vocabulary::new(config.vocabulary);
    for row in table("splitting") {
        let phonemes: Vec<char> = row["phonemes"].as_str().unwrap().chars().collect();
        let limit = row["limit"].as_u64().unwrap() as usize;
        let spans: Vec<Vec<i64>> = split(&phonemes, &vocabulary, limit)
            .into_iter()
            .map(|span| vec![span.start as i64, span.end as i64])
            .collect();
        let right: Vec<Vec<i64>> = row["spans"].as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(spans, right, "{row}");
    }
}

#[test]
fn encoding() {
    let config = config::load(&root().join("kokoro_pipeline/data/config.json")).unwrap();
    let vocabulary = Vocabulary::new(config.vocabulary);
    for row in table("encoding") {
        let phonemes: Vec<char> = row["phonemes"].as_str().unwrap().chars().collect();
        let (ids, unknown) = vocabulary.encode(&phonemes, 0);
        let unknown: Vec<i64> = unknown.iter().map(|symbol| symbol.position as i64).collect();
        assert_eq!((ids, unknown), (numbers(&row["ids"]), numbers(&row["unknown"])), "{row}");
    }
}

#[test]
fn frames() {
    for row in table("frames") {
        let speed = row["speed"].as_f64().unwrap() as f32;
        let frames = frames_per_token(&floats(&row["duration"]), speed).unwrap();
        assert_eq!(frames, numbers(&row["frames"]));
    }
}

#[test]
fn samples() {
    for row in table("pcm16") {
        let values: Vec<i64> = floats(&row["samples"])
            .into_iter()
            .map(|sample| audio::pcm16(sample).0.into())
            .collect();
        assert_eq!(values, numbers(&row["values"]));
    }
}

#[test]
fn blends() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..4usize {
        let bytes: Vec<u8> = (0..510 * 256usize)
            .map(|place| place * (2 * number + 1) % 2003)
            .flat_map(|place| ((place as f64 / 1024.0 - 1.0) as f32).to_le_bytes())
            .collect();
        std::fs::write(folder.path().join(format!("v{number}.bin")), bytes).unwrap();
    }
    for row in table("blends") {
        let pack = voices::load(row["voice"].as_str().unwrap(), folder.path(), &[]).unwrap();
        assert_eq!(hash(pack.values()), row["sha256"], "{row}");
    }
}
