//! Voice packs: one style vector of 256 values for each number of phonemes from 1 to 510.
//!
//! A style vector consists of the decoder's half and the predictor's half, 128 values each.

use std::path::{Path, PathBuf};

use crate::errors::{reason, Error, Result};
use crate::{MAX_PHONEMES, STYLE_DIM};

const ROW: usize = 2 * STYLE_DIM;
const VALUES: usize = MAX_PHONEMES * ROW;
/// Beyond this magnitude of a style vector, float32 networks overflow.
const LARGEST_STYLE: f64 = 1e4;
const LARGEST_FILE: u64 = 1 << 24;
/// The most characters of a voice as it was given that an error quotes.
const SHOWN: usize = 80;

/// A checked voice pack.
#[derive(Clone, Debug, PartialEq)]
pub struct VoicePack(Vec<f32>);

impl VoicePack {
    /// A pack of 510 × 256 values in row-major order; `origin` names it in errors.
    pub fn new(values: Vec<f32>, origin: &str) -> Result<VoicePack> {
        if values.len() != VALUES {
            return Err(Error::input(format!(
                "{origin}: a voice has {MAX_PHONEMES} × {ROW} values, this has {}",
                values.len()
            )));
        }
        let bad = values.iter().filter(|value| !value.is_finite()).count();
        if bad > 0 {
            return Err(Error::input(format!(
                "{origin}: {bad} of the voice's values are NaN or infinite"
            )));
        }
        let largest = values.iter().fold(0f32, |most, value| most.max(value.abs()));
        if f64::from(largest) > LARGEST_STYLE {
            return Err(Error::input(format!(
                "{origin}: the voice holds a value of magnitude {largest:.2e}; magnitudes up to \
                 {LARGEST_STYLE} are accepted"
            )));
        }
        Ok(VoicePack(values))
    }

    /// The style vector for a chunk of `phonemes` symbols; more than 510 have the last one.
    pub fn style(&self, phonemes: usize) -> &[f32] {
        let row = phonemes.clamp(1, MAX_PHONEMES) - 1;
        &self.0[row * ROW..][..ROW]
    }

    /// All values in row-major order.
    pub fn values(&self) -> &[f32] {
        &self.0
    }
}

/// Load a voice: a name in `folder`, a file (.npy, .bin), or a blend of them such as
/// "af_heart:0.6,af_bella:0.4".
///
/// Weights are positive and divided by their sum; without weights, the parts are equal. `promised`
/// are the names that `folder` has to have, as an artifact's manifest lists them: that such a file is
/// missing or damaged is no mistake of who asks for it.
pub fn load(voice: &str, folder: &Path, promised: &[&str]) -> Result<VoicePack> {
    let text = voice.trim();
    check_name(text)?;
    if is_file_name(text) && Path::new(text).is_file() {
        return read_file(Path::new(text)); // whatever commas and colons its name has
    }
    let parts = parse_blend(text)?;
    let pack = |name: &str| match promised.contains(&name) {
        true => load_promised(name, folder),
        false => load_one(name, folder),
    };
    let packs = parts.iter().map(|(name, _)| pack(name)).collect::<Result<Vec<VoicePack>>>()?;
    let weights: Vec<f64> = parts.iter().map(|(_, weight)| *weight).collect();
    Ok(blend(packs, &weights))
}

/// Check what can be known of a voice without an artifact.
pub fn check(voice: &str) -> Result<()> {
    let text = voice.trim();
    check_name(text)?;
    if !is_file_name(text) {
        parse_blend(text)?;
    }
    Ok(())
}

/// The weighted mean, in float64 in the order of the parts, rounded once to float32.
fn blend(mut packs: Vec<VoicePack>, weights: &[f64]) -> VoicePack {
    if packs.len() == 1 {
        return packs.remove(0);
    }
    let total = weights.iter().fold(0.0, |sum, weight| sum + weight);
    let mut sums = vec![0f64; VALUES];
    for (pack, weight) in packs.iter().zip(weights) {
        let share = weight / total;
        for (sum, value) in sums.iter_mut().zip(&pack.0) {
            *sum += f64::from(*value) * share;
        }
    }
    VoicePack(sums.into_iter().map(|sum| sum as f32).collect())
}

fn check_name(text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::input(format!("{:?} is not the name of a voice", short(text))));
    }
    Ok(())
}

/// A text as it was given, and of a long one the beginning.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Names and weights of a blend, in order.
pub fn parse_blend(text: &str) -> Result<Vec<(String, f64)>> {
    let refused = |why: String| Error::input(format!("voice {:?}: {why}", short(text)));
    let mut parts: Vec<(String, f64)> = Vec::new();
    let mut weighted = 0;
    for part in text.split(',') {
        let (name, number) = match part.rsplit_once(':') {
            Some((name, number)) => {
                weighted += 1;
                (name.trim(), number.trim())
            }
            None => (part.trim(), "1"),
        };
        let weight: f64 = number
            .parse()
            .map_err(|_| refused(format!("{:?} is not a weight; write NAME:0.6", short(number))))?;
        if name.is_empty() {
            return Err(refused("a name is missing; write NAME or NAME:0.6,NAME:0.4".into()));
        }
        if !(weight.is_finite() && weight > 0.0) {
            let (number, name) = (short(number), short(name));
            return Err(refused(format!("the weight {number} of {name} is not positive")));
        }
        if parts.iter().any(|(known, _)| known == name) {
            return Err(refused(format!("{} appears twice", short(name))));
        }
        parts.push((name.to_string(), weight));
    }
    if !parts.iter().fold(0.0, |sum, (_, weight)| sum + weight).is_finite() {
        return Err(refused("the sum of the weights is not finite".into()));
    }
    if weighted > 0 && weighted < parts.len() {
        return Err(refused("give a weight to every voice or to none".into()));
    }
    Ok(parts)
}

/// Read a pack from a .npy file, or from a .bin file of raw little-endian float32.
pub fn read_file(path: &Path) -> Result<VoicePack> {
    let shown = path.display().to_string();
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
    match suffix.as_deref() {
        Some("npy") => VoicePack::new(parse_npy(&read(path)?, &shown)?, &shown),
        Some("bin") => {
            let bytes = read(path)?;
            if bytes.len() != VALUES * 4 {
                return Err(Error::input(format!(
                    "{shown}: a raw voice has {} bytes of float32, this has {}",
                    VALUES * 4,
                    bytes.len()
                )));
            }
            VoicePack::new(floats(&bytes, 4, false), &shown)
        }
        Some("pt") => Err(Error::input(format!(
            "{shown} is a file of PyTorch, which this program does not read: convert the voices of \
             an artifact or of weights with: kokoro-pipeline assets DIR -o OUT"
        ))),
        _ => Err(Error::input(format!("{shown} is not a voice file: expected .npy or .bin"))),
    }
}

fn load_promised(name: &str, folder: &Path) -> Result<VoicePack> {
    let remedy = "copy the artifact again, or build it anew";
    match file_of(name, folder).map(|file| read_file(&file)) {
        Some(Err(error)) => {
            let what = format!("the artifact's voice {name} is damaged: {error}; {remedy}");
            Err(Error::artifact(what))
        }
        Some(pack) => pack,
        None => Err(Error::artifact(format!(
            "the artifact's voice {name} is gone from {}: {remedy}",
            folder.display()
        ))),
    }
}

fn file_of(name: &str, folder: &Path) -> Option<PathBuf> {
    let mut files =
        ["npy", "pt", "bin"].map(|suffix| folder.join(format!("{name}.{suffix}"))).into_iter();
    files.find(|file| file.is_file())
}

fn load_one(name: &str, folder: &Path) -> Result<VoicePack> {
    if is_file_name(name) {
        return read_file(Path::new(name));
    }
    if let Some(file) = file_of(name, folder) {
        return read_file(&file);
    }
    let name = short(name);
    let mut known: Vec<String> = std::fs::read_dir(folder)
        .map_err(|error| {
            let why = reason(&error);
            Error::input(format!("cannot list the voices of {}: {why}", folder.display()))
        })?
        .flatten()
        .filter(|entry| is_file_name(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    known.sort();
    known.dedup();
    let shown = folder.display();
    if known.is_empty() {
        return Err(Error::input(format!("unknown voice {name:?}: {shown} holds no voices")));
    }
    let more = known.len().saturating_sub(8);
    known.truncate(8);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Error::input(format!(
        "unknown voice {name:?} in {shown}: it has {}{rest}",
        known.join(", ")
    )))
}

fn is_file_name(text: &str) -> bool {
    let suffix = Path::new(text).extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
    text.contains('/') || matches!(suffix.as_deref(), Some("npy" | "pt" | "bin"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| {
        let why = reason(&error);
        Error::input(format!("cannot read the voice {}: {why}", path.display()))
    };
    let found = std::fs::metadata(path).map_err(failed)?;
    // A pipe, say, for which reading would wait.
    if !found.is_file() {
        let shown = path.display();
        return Err(Error::input(format!("cannot read the voice {shown}: it is no file")));
    }
    let size = found.len();
    if size > LARGEST_FILE {
        return Err(Error::input(format!(
            "{}: a voice has at most {LARGEST_FILE} bytes, this has {size}",
            path.display()
        )));
    }
    std::fs::read(path).map_err(failed)
}

fn floats(bytes: &[u8], width: usize, big_endian: bool) -> Vec<f32> {
    bytes
        .chunks_exact(width)
        .map(|chunk| {
            let mut word = [0u8; 8];
            for (place, byte) in chunk.iter().enumerate() {
                word[if big_endian { width - 1 - place } else { place }] = *byte;
            }
            let bits = u64::from_le_bytes(word);
            match width {
                2 => half(bits as u16),
                4 => f32::from_bits(bits as u32),
                _ => f64::from_bits(bits) as f32,
            }
        })
        .collect()
}

/// The value of a float16.
fn half(bits: u16) -> f32 {
    let magnitude = bits & 0x7fff;
    let value = match magnitude >> 10 {
        0 => f32::from(magnitude) / 16_777_216.0,
        31 if magnitude == 0x7c00 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits(((u32::from(magnitude)) << 13) + (112 << 23)),
    };
    if bits >> 15 == 1 {
        -value
    } else {
        value
    }
}

/// The values of a .npy file of any float dtype as float32, in row-major order.
///
/// Its shape must be that of a pack, [510, 1, 256] or [510, 256].
pub fn parse_npy(bytes: &[u8], origin: &str) -> Result<Vec<f32>> {
    let damaged =
        |why: &str| Error::input(format!("{origin} is not a .npy file, or is damaged: {why}"));
    if bytes.len() < 8 || !bytes.starts_with(b"\x93NUMPY") {
        return Err(damaged("it does not start as one"));
    }
    let (length, start): (usize, usize) = match (bytes[6], bytes.get(8..12)) {
        (1, _) if bytes.len() >= 10 => (usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), 10),
        (2 | 3, Some(word)) => {
            (u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as usize, 12)
        }
        (1..=3, _) => return Err(damaged("it ends in its header")),
        (version, _) => return Err(damaged(&format!("it has version {version}"))),
    };
    let header = start
        .checked_add(length)
        .and_then(|end| bytes.get(start..end))
        .ok_or_else(|| damaged("it ends in its header"))?;
    let header = std::str::from_utf8(header).map_err(|_| damaged("its header is no text"))?;
    let header = NpyHeader::parse(header).ok_or_else(|| damaged("its header cannot be read"))?;
    let dtype = header.dtype.as_str();
    let big_endian = dtype.starts_with('>');
    let code = dtype.strip_prefix(['<', '>', '=', '|']).unwrap_or(dtype);
    let width = match code {
        "f2" => 2,
        "f4" => 4,
        "f8" => 8,
        _ => {
            return Err(Error::input(format!("{origin}: a voice holds float32, this has {dtype}")))
        }
    };
    if header.shape != [MAX_PHONEMES, 1, ROW] && header.shape != [MAX_PHONEMES, ROW] {
        return Err(Error::input(format!(
            "{origin}: a voice has the shape [{MAX_PHONEMES}, 1, {ROW}] or [{MAX_PHONEMES}, {ROW}], \
             this has {:?}",
            header.shape
        )));
    }
    let data = &bytes[start + length..];
    if data.len() < VALUES * width {
        return Err(damaged(&format!("it has {} bytes of values", data.len())));
    }
    let values = floats(&data[..VALUES * width], width, big_endian);
    if !header.fortran {
        return Ok(values);
    }
    let row_major = (0..VALUES).map(|at| values[at % ROW * MAX_PHONEMES + at / ROW]);
    Ok(row_major.collect())
}

/// The dictionary in the header of a .npy file, as numpy writes it.
#[derive(Debug, PartialEq)]
struct NpyHeader {
    dtype: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl NpyHeader {
    fn parse(text: &str) -> Option<NpyHeader> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        while !rest.is_empty() {
            let (key, value) = quoted(rest)?;
            let value = value.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" => {
                    let (text, after) = quoted(value)?;
                    dtype = Some(text.to_string());
                    after
                }
                "fortran_order" => {
                    fortran = Some(value.starts_with("True"));
                    value.strip_prefix("True").or_else(|| value.strip_prefix("False"))?
                }
                "shape" => {
                    let (sizes, after) = value.strip_prefix('(')?.split_once(')')?;
                    let sizes = sizes.trim();
                    let sizes = sizes.strip_suffix(',').unwrap_or(sizes);
                    let size = |size: &str| size.trim().trim_end_matches('L').parse().ok();
                    let parsed: Option<Vec<usize>> = if sizes.is_empty() {
                        Some(Vec::new())
                    } else {
                        sizes.split(',').map(size).collect()
                    };
                    shape = Some(parsed?);
                    after
                }
                _ => return None,
            };
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if after.is_empty() => "",
                None => return None,
            };
        }
        Some(NpyHeader { dtype: dtype?, fortran: fortran?, shape: shape? })
    }
}

/// The text between the quotes that `text` begins with, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn headers_are_read_as_numpy_writes_them() {
        let right = |dtype: &str, fortran, shape: &[usize]| {
            Some(NpyHeader { dtype: dtype.to_string(), fortran, shape: shape.to_vec() })
        };
        let table = [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (510, 1, 256), }  \n",
                right("<f4", false, &[510, 1, 256]),
            ),
            (
                "{\"shape\": (3,), \"fortran_order\": True, \"descr\": \"<f8\"}",
                right("<f8", true, &[3]),
            ),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", right("<f4", false, &[])),
            ("{'descr': '<f4', 'fortran_order': False}", None),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", None),
            ("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", None),
            ("{'descr': '<f4' 'fortran_order': True, 'shape': (1,)}", None),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}", None),
            ("{'descr", None),
            ("{'", None),
            ("{", None),
            ("", None),
            ("{é", None),
        ];
        for (text, expected) in table {
            assert_eq!(NpyHeader::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn float_types_and_orders_give_the_same_values() {
        let values: Vec<f32> = (0..VALUES).map(|i| (i % 2000) as f32 / 1024.0 - 0.5).collect();
        let shape = "(510, 1, 256)";
        let header = |dtype: &str, fortran: &str| {
            format!("{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
        };
        let bytes = |width: usize, big: bool, order: &dyn Fn(usize) -> usize| -> Vec<u8> {
            (0..VALUES)
                .flat_map(|at| {
                    let value = values[order(at)];
                    let mut word = match width {
                        4 => value.to_le_bytes().to_vec(),
                        _ => f64::from(value).to_le_bytes().to_vec(),
                    };
                    if big {
                        word.reverse();
                    }
                    word
                })
                .collect()
        };
        let same = |at: usize| at;
        let columns = |at: usize| at % MAX_PHONEMES * ROW + at / MAX_PHONEMES;
        let table = [
            (header("<f4", "False"), bytes(4, false, &same)),
            (header(">f4", "False"), bytes(4, true, &same)),
            (header("<f8", "False"), bytes(8, false, &same)),
            (header(">f8", "False"), bytes(8, true, &same)),
            (header("<f4", "True"), bytes(4, false, &columns)),
        ];
        for (header, data) in table {
            assert!(parse_npy(&npy(&header, &data), "a.npy").unwrap() == values, "{header}");
        }
    }

    #[test]
    fn halves_are_exact() {
        let table = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, value) in table {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn damaged_files_are_refused() {
        let right = "{'descr': '<f4', 'fortran_order': False, 'shape': (510, 256)}";
        let other = |from: &str, to: &str| npy(&right.replace(from, to), &[]);
        let table: Vec<(Vec<u8>, &str)> = vec![
            (vec![], "does not start"),
            (b"\x93NUMPY\x01\x00".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x02\x00\xff".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x09\x00\x00\x00".to_vec(), "version 9"),
            (npy("\u{e9}", &[]), "cannot be read"),
            (other("<f4", "<i4"), "this has <i4"),
            (other("<f4", ""), "a voice holds float32"),
            (other("<f4", "|O"), "this has |O"),
            (other("(510, 256)", "(510, 2, 256)"), "this has [510, 2, 256]"),
            (npy(right, &[0; 100]), "100 bytes of values"),
        ];
        for (bytes, cause) in table {
            let error = parse_npy(&bytes, "a.npy").unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
    }

    #[test]
    fn packs_hold_moderate_finite_numbers() {
        let with = |value: f32| {
            let mut values = vec![0.5; VALUES];
            values[7] = value;
            VoicePack::new(values, "a.npy")
        };
        assert!(with(1e4).is_ok());
        for (value, cause) in [
            (f32::NAN, "1 of the voice's values are NaN"),
            (f32::NEG_INFINITY, "infinite"),
            (-1.1e4, "magnitude"),
        ] {
            assert!(with(value).unwrap_err().to_string().contains(cause), "{value}");
        }
        assert!(VoicePack::new(vec![0.0; 5], "a.npy").is_err());
    }

    #[test]
    fn blends_are_parsed() {
        let parse = |text: &str| parse_blend(text).map_err(|error| error.to_string());
        assert_eq!(parse("a").unwrap(), [("a".to_string(), 1.0)]);
        let two = parse(" a : 0.6 , b:4e-1").unwrap();
        assert_eq!(two, [("a".to_string(), 0.6), ("b".to_string(), 0.4)]);
        for (text, cause) in [
            ("", "a name is missing"),
            ("a,", "a name is missing"),
            ("a:x", "not a weight"),
            ("a:", "not a weight"),
            ("a:0,b:1", "not positive"),
            ("a:nan", "not positive"),
            ("a:-1", "not positive"),
            ("a:inf", "not positive"),
            ("a,a", "twice"),
            ("a:1,b", "every voice or to none"),
            ("a:1e308,b:1e308", "sum of the weights"),
        ] {
            assert!(parse(text).unwrap_err().contains(cause), "{text}");
        }
        let long = "é".repeat(5000);
        for text in [format!("{long},{long}"), format!("a:{long}"), format!("{long}:0")] {
            assert!(parse(&text).unwrap_err().len() < 800, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_is_told_shortly() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.npy"), "x").unwrap();
        std::fs::create_dir(folder.path().join("c.npy")).unwrap();
        let inside = folder.path().join("c.npy").display().to_string();
        let long = "é".repeat(5000);
        for (voice, promised, cause) in [
            ("a", &[][..], "a.npy is not a .npy file, or is damaged"),
            ("a", &["a"], "the artifact's voice a is damaged: "),
            ("a", &["a"], "as one; copy the artifact again"),
            ("b", &["b"], "the artifact's voice b is gone from "),
            ("b", &["a"], "unknown voice \"b\" in "),
            (&inside, &[], "it is no file"),
            (&long, &[], "é…\" in "),
        ] {
            let error = load(voice, folder.path(), promised).unwrap_err().to_string();
            assert!(error.contains(cause) && error.len() < 500, "{error}");
        }
    }
}
