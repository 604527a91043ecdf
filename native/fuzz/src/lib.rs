//! The entry point that libFuzzer calls with arbitrary bytes. `$KOKORO_FUZZ` names the parser.
//!
//! A parser may refuse its input, and must not panic. What is found becomes a row of
//! `kokoro-runtime/tests/found_inputs.rs`.

use std::collections::HashMap;
use std::sync::OnceLock;

use kokoro_runtime::artifact::manifest;
use kokoro_runtime::text::{splitting, Vocabulary};
use kokoro_runtime::voices;
use serde_json::Value;

type Parser = fn(&[u8]);

fn parser() -> Parser {
    static CHOSEN: OnceLock<Parser> = OnceLock::new();
    *CHOSEN.get_or_init(|| match std::env::var("KOKORO_FUZZ").as_deref() {
        Ok("manifest") => parse_manifest,
        Ok("npy") => parse_npy,
        Ok("splitting") => split,
        Ok("voices") => parse_blend,
        other => panic!("KOKORO_FUZZ is {other:?}, not manifest, npy, splitting or voices"),
    })
}

/// # Safety
///
/// `data` holds `size` bytes, or is not read where `size` is 0.
#[no_mangle]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    let bytes = if size == 0 { &[] } else { std::slice::from_raw_parts(data, size) };
    parser()(bytes);
    0
}

/// A manifest as it is, and with the hash that its content has, so that what is behind that check
/// is reached.
fn parse_manifest(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Err(error) = manifest::loads(text, "manifest.json") else { return };
    let message = error.to_string();
    let Some((_, rest)) = message.split_once("its content hashes to ") else { return };
    let Ok(Value::Object(mut top)) = serde_json::from_str(text) else { return };
    top.insert("sha256".into(), rest.get(..64).expect("a hash has 64 digits").into());
    let mended = Value::Object(top).to_string();
    if let Err(error) = manifest::loads(&mended, "manifest.json") {
        assert!(!error.to_string().contains("hashes to"), "{error}");
    }
}

fn parse_npy(bytes: &[u8]) {
    if let Ok(values) = voices::parse_npy(bytes, "voice.npy") {
        assert_eq!(values.len(), 510 * 256);
    }
}

fn parse_blend(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(parts) = voices::parse_blend(text) {
        assert!(!parts.is_empty() && parts.iter().all(|(_, w)| w.is_finite() && *w > 0.0));
    }
}

/// The first byte is the limit; the rest are phonemes, of which most letters are known.
fn split(bytes: &[u8]) {
    let Some((&limit, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let symbols: Vec<char> = text.chars().collect();
    let known = "abcdefghijklmnop ,.;:!?—…\"()“”ˈˌːəɹ";
    let ids: HashMap<char, i64> = known.chars().zip(1..).collect();
    let vocabulary = Vocabulary::new(ids);
    let limit = usize::from(limit).max(1);
    let mut end = 0;
    for span in splitting::split(&symbols, &vocabulary, limit) {
        assert!(span.start == end && span.end > span.start, "{span:?} does not follow {end}");
        let fed = symbols[span.clone()].iter().filter(|&&s| vocabulary.contains(s)).count();
        assert!(fed <= limit, "{span:?} feeds {fed}");
        end = span.end;
    }
    assert_eq!(end, symbols.len());
}
