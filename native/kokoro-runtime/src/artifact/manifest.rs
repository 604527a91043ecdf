//! The manifest of an artifact: its files, how it was built, and what it needs to run.
//!
//! Reading checks, in this order: JSON, schema version, self-hash, then every field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::errors::{Error, Result};

/// The schema that this library reads.
pub const SCHEMA_VERSION: u64 = 5;
/// The name of the manifest in the folder.
pub const MANIFEST_NAME: &str = "manifest.json";
/// The name of the parameter file in the folder.
pub const PARAMETERS_NAME: &str = "params.bin";
/// The name of the model's configuration in the folder.
pub const CONFIG_NAME: &str = "config.json";
/// The folder of voice packs.
pub const VOICES_FOLDER: &str = "voices";
/// Names of the compiled library: ELF and Mach-O.
pub const LIBRARY_NAMES: [&str; 2] = ["model.so", "model.dylib"];

const ALIGNMENT: u64 = 64;
const DTYPES: [(&str, u64); 12] = [
    ("bool", 1),
    ("int8", 1),
    ("uint8", 1),
    ("int16", 2),
    ("uint16", 2),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
];
const PRECISIONS: [&str; 5] = ["float32", "float32-fma", "tf32", "bfloat16", "float16"];

/// A file of the folder: its SHA-256 in hexadecimal digits, and its size in bytes.
#[derive(Clone, Debug)]
pub struct FileEntry {
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The origin of the parameters.
#[derive(Clone, Debug)]
pub struct WeightsInfo {
    /// A hub name, a folder or "synthetic".
    pub source: String,
    /// The commit on the hub, if any.
    pub revision: Option<String>,
    /// The hash of the checkpoint.
    pub sha256: String,
    /// Whether they are random numbers, whose output is not speech.
    pub synthetic: bool,
    /// The seed of synthetic weights, a whole number of any size in decimal digits.
    pub seed: Option<String>,
}

/// The target that the library was compiled for.
#[derive(Clone, Debug)]
pub struct TargetInfo {
    /// The kind of the TVM target.
    pub kind: String,
    /// LLVM's name of the CPU.
    pub mcpu: String,
    /// The vector features that the CPU must have, by LLVM's names.
    pub features: Vec<String>,
    /// The system, such as "linux-x86_64".
    pub host: String,
    /// The CUDA architectures with machine code.
    pub archs: Vec<String>,
    /// What the operands of the decoder's products are rounded to; not at all if it begins with
    /// "float32".
    pub precision: String,
}

impl TargetInfo {
    /// The kind of the device that the functions run on: "cpu", "cuda" or "metal".
    pub fn device(&self) -> &str {
        if self.kind == "llvm" {
            "cpu"
        } else {
            &self.kind
        }
    }
}

/// A dimension of a tensor: a number, or `factor*symbol+rest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A constant size.
    Fixed(u64),
    /// `factor*symbol+rest`.
    Affine {
        /// At least 1.
        factor: u64,
        /// The name of the size.
        symbol: String,
        /// A constant.
        rest: u64,
    },
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dimension::Fixed(size) => write!(out, "{size}"),
            Dimension::Affine { factor, symbol, rest } => {
                if *factor != 1 {
                    write!(out, "{factor}*")?;
                }
                write!(out, "{symbol}")?;
                if *rest != 0 {
                    write!(out, "+{rest}")?;
                }
                Ok(())
            }
        }
    }
}

/// An input or output of a function.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    /// The name of the tensor.
    pub name: String,
    /// numpy's name of the element type.
    pub dtype: String,
    /// The dimensions.
    pub shape: Vec<Dimension>,
}

/// A parameter, at `offset` bytes in the parameter file.
#[derive(Clone, Debug)]
pub struct ParameterSpec {
    /// The name of the parameter.
    pub name: String,
    /// numpy's name of the element type.
    pub dtype: String,
    /// The sizes of the dimensions.
    pub shape: Vec<u64>,
    /// A multiple of 64.
    pub offset: u64,
    /// The first byte behind the parameter.
    pub end: u64,
}

/// A compiled function. A call passes the inputs, then the parameters.
#[derive(Clone, Debug)]
pub struct FunctionSpec {
    /// What a caller gives.
    pub inputs: Vec<TensorSpec>,
    /// What it returns.
    pub outputs: Vec<TensorSpec>,
    /// What the artifact adds to each call.
    pub parameters: Vec<ParameterSpec>,
}

/// The algorithms of the convolutions for which there is a choice.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The CPU that `build --tune` measured on; empty if the model of costs chose.
    pub measured_on: String,
    /// The algorithm of each shape.
    pub algorithms: BTreeMap<String, String>,
}

/// A checked manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The version of the package that built the artifact.
    pub package_version: String,
    /// The origin of the parameters.
    pub weights: WeightsInfo,
    /// Distributions and their versions when it was built.
    pub versions: BTreeMap<String, String>,
    /// What it was compiled for.
    pub target: TargetInfo,
    /// 0, 1 or 2.
    pub opt_level: u64,
    /// The compiled functions by name.
    pub functions: BTreeMap<String, FunctionSpec>,
    /// Every file of the folder but the manifest, by its path in the folder.
    pub files: BTreeMap<String, FileEntry>,
    /// The states of the extension's fixes.
    pub fixes: BTreeMap<String, String>,
    /// What the convolutions are computed by.
    pub choices: Choices,
    /// The hash of everything else.
    pub sha256: String,
    /// All values, as they are written.
    pub json: Value,
}

impl Manifest {
    /// The name of the compiled library in the folder.
    pub fn library(&self) -> &str {
        let listed = |name: &&&str| self.files.contains_key(**name);
        LIBRARY_NAMES.iter().find(listed).expect("checked when read")
    }

    /// Names of the voices in the folder, sorted.
    pub fn voices(&self) -> Vec<&str> {
        let voice = |path: &'_ String| -> Option<(usize, usize)> {
            let start = VOICES_FOLDER.len() + 1;
            let in_folder = path.starts_with(VOICES_FOLDER) && path[start - 1..].starts_with('/');
            (in_folder && path.ends_with(".npy")).then(|| (start, path.len() - 4))
        };
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| voice(path).and_then(|(start, end)| path.get(start..end)))
            .collect();
        names.sort_unstable();
        names
    }
}

/// Parse and check the text of a manifest; `file` names it in errors.
pub fn loads(text: &str, file: &str) -> Result<Manifest> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Error::artifact(format!(
            "{file} is damaged: not valid JSON ({error}); build the artifact anew"
        ))
    })?;
    let reader = Reader { file };
    let top = reader.mapping(&value, "the manifest")?;
    let nothing = Value::Null;
    let version =
        reader.integer(top.get("schema_version").unwrap_or(&nothing), "schema_version")?;
    let made_by = top.get("package_version").unwrap_or(&nothing);
    if version > SCHEMA_VERSION {
        return Err(Error::artifact(format!(
            "{file} has schema {version}, this program reads up to {SCHEMA_VERSION}: the artifact \
             was made by a newer kokoro_pipeline ({made_by}); upgrade this program, or build the \
             artifact anew"
        )));
    }
    if version < SCHEMA_VERSION {
        return Err(Error::artifact(format!(
            "{file} has schema {version}, this program reads schema {SCHEMA_VERSION}: the artifact \
             was made by an older kokoro_pipeline ({made_by}); build the artifact anew"
        )));
    }
    let actual = self_hash(top);
    match top.get("sha256") {
        Some(Value::String(stored)) if *stored == actual => {}
        stored => {
            let stored = stored.unwrap_or(&nothing);
            return Err(reader.damaged(format!("its content hashes to {actual}, it says {stored}")));
        }
    }
    reader.manifest(&value)
}

/// Whether `path` names a file inside a folder on every system.
pub fn is_safe_path(path: &str) -> bool {
    !path.chars().any(|c| c < ' ' || "\\:*?\"<>|".contains(c))
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Parse `[factor*]symbol[+constant]`.
pub fn affine(text: &str) -> Option<Dimension> {
    let number = |digits: &str| -> Option<u64> {
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        if plain {
            digits.parse().ok()
        } else {
            None
        }
    };
    let (factor, rest) = match text.split_once('*') {
        Some((factor, rest)) => (number(factor)?, rest),
        None => (1, text),
    };
    let (symbol, rest) = match rest.split_once('+') {
        Some((symbol, rest)) => (symbol, number(rest)?),
        None => (rest, 0),
    };
    let mut letters = symbol.chars();
    let first = letters.next()?;
    let name = (first.is_ascii_alphabetic() || first == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_');
    name.then(|| Dimension::Affine { factor, symbol: symbol.to_string(), rest })
}

/// SHA-256 of the canonical JSON (sorted keys, no spaces, UTF-8) without the hash itself.
///
/// Numbers are hashed as they are written.
fn self_hash(top: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(top.iter().filter(|(key, _)| *key != "sha256"), &mut text);
    hex(&Sha256::digest(text.as_bytes()))
}

fn write_object<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut String) {
    let sorted: BTreeMap<&String, &Value> = entries.collect();
    out.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write_canonical(value, out);
    }
    out.push('}');
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => write_object(map.iter(), out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Typed access to parsed JSON; errors name the file and the field.
struct Reader<'a> {
    file: &'a str,
}

type Json<'a> = &'a Map<String, Value>;

impl Reader<'_> {
    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        Error::artifact(format!("{} is damaged: {what}; build the artifact anew", self.file))
    }

    fn manifest(&self, value: &Value) -> Result<Manifest> {
        let names = "schema_version package_version weights versions target opt_level functions \
                     fixes validation choices files sha256";
        let top = self.fields(value, "the manifest", names)?;
        self.mapping(&top["validation"], "validation")?;
        let manifest = Manifest {
            package_version: self.string(&top["package_version"], "package_version")?,
            weights: self.weights(&top["weights"])?,
            versions: self.table(&top["versions"], "versions", Self::string)?,
            target: self.target(&top["target"])?,
            opt_level: self.integer(&top["opt_level"], "opt_level")?,
            functions: self.table(&top["functions"], "functions", Self::function)?,
            files: self.table(&top["files"], "files", Self::file)?,
            fixes: self.table(&top["fixes"], "fixes", Self::string)?,
            choices: self.choices(&top["choices"])?,
            sha256: self.sha256(&top["sha256"], "sha256")?,
            json: value.clone(),
        };
        self.check_paths(&manifest)?;
        Ok(manifest)
    }

    fn check_paths(&self, manifest: &Manifest) -> Result<()> {
        for path in manifest.files.keys() {
            if !is_safe_path(path) || path == MANIFEST_NAME {
                let what = format!("files: {path:?} does not name a file inside the folder");
                return Err(self.damaged(what));
            }
        }
        let listed = |name: &&&str| manifest.files.contains_key(**name);
        if LIBRARY_NAMES.iter().filter(listed).count() != 1 {
            let names = LIBRARY_NAMES.join(", ");
            return Err(self.damaged(format!("files: expected exactly one of {names}")));
        }
        let Some(parameters) = manifest.files.get(PARAMETERS_NAME) else {
            return Err(self.damaged(format!("files: {PARAMETERS_NAME} is not listed")));
        };
        for (name, function) in &manifest.functions {
            for parameter in &function.parameters {
                if parameter.end > parameters.size {
                    return Err(self.damaged(format!(
                        "functions.{name}: parameter {} ends at byte {} of a {PARAMETERS_NAME} of \
                         {}",
                        parameter.name, parameter.end, parameters.size
                    )));
                }
            }
        }
        Ok(())
    }

    fn weights(&self, value: &Value) -> Result<WeightsInfo> {
        let data = self.fields(value, "weights", "source revision sha256 synthetic seed")?;
        let Value::Bool(synthetic) = data["synthetic"] else {
            return Err(self.damaged(format!("weights.synthetic is {}", data["synthetic"])));
        };
        Ok(WeightsInfo {
            source: self.string(&data["source"], "weights.source")?,
            revision: self.optional(&data["revision"], "weights.revision", Self::string)?,
            sha256: self.sha256(&data["sha256"], "weights.sha256")?,
            synthetic,
            seed: self.optional(&data["seed"], "weights.seed", Self::digits)?,
        })
    }

    fn target(&self, value: &Value) -> Result<TargetInfo> {
        let data = self.fields(value, "target", "kind mcpu features host archs precision")?;
        let precision = self.string(&data["precision"], "target.precision")?;
        if !PRECISIONS.contains(&precision.as_str()) {
            let known = PRECISIONS.join(", ");
            return Err(
                self.damaged(format!("target.precision is {precision:?}, not one of {known}"))
            );
        }
        Ok(TargetInfo {
            kind: self.string(&data["kind"], "target.kind")?,
            mcpu: self.string(&data["mcpu"], "target.mcpu")?,
            features: self.sequence(&data["features"], "target.features", Self::string)?,
            host: self.string(&data["host"], "target.host")?,
            archs: self.sequence(&data["archs"], "target.archs", Self::string)?,
            precision,
        })
    }

    fn choices(&self, value: &Value) -> Result<Choices> {
        let data = self.fields(value, "choices", "measured_on convolutions")?;
        Ok(Choices {
            measured_on: self.string(&data["measured_on"], "choices.measured_on")?,
            algorithms: self.table(
                &data["convolutions"],
                "choices.convolutions",
                Self::algorithm,
            )?,
        })
    }

    fn algorithm(&self, value: &Value, name: &str) -> Result<String> {
        let data = self.fields(value, name, "algorithm microseconds")?;
        self.table(&data["microseconds"], &format!("{name}.microseconds"), Self::measure)?;
        self.string(&data["algorithm"], &format!("{name}.algorithm"))
    }

    fn file(&self, value: &Value, name: &str) -> Result<FileEntry> {
        let data = self.fields(value, name, "sha256 size")?;
        Ok(FileEntry {
            sha256: self.sha256(&data["sha256"], &format!("{name}.sha256"))?,
            size: self.integer(&data["size"], &format!("{name}.size"))?,
        })
    }

    fn function(&self, value: &Value, name: &str) -> Result<FunctionSpec> {
        let data = self.fields(value, name, "inputs outputs parameters workspace")?;
        self.sequence(&data["workspace"], &format!("{name}.workspace"), Self::integer)?;
        Ok(FunctionSpec {
            inputs: self.sequence(&data["inputs"], &format!("{name}.inputs"), Self::tensor)?,
            outputs: self.sequence(&data["outputs"], &format!("{name}.outputs"), Self::tensor)?,
            parameters: self.sequence(
                &data["parameters"],
                &format!("{name}.parameters"),
                Self::parameter,
            )?,
        })
    }

    fn tensor(&self, value: &Value, name: &str) -> Result<TensorSpec> {
        let data = self.fields(value, name, "name dtype shape")?;
        Ok(TensorSpec {
            name: self.string(&data["name"], &format!("{name}.name"))?,
            dtype: self.dtype(&data["dtype"], &format!("{name}.dtype"))?.0,
            shape: self.sequence(&data["shape"], &format!("{name}.shape"), Self::dimension)?,
        })
    }

    fn parameter(&self, value: &Value, name: &str) -> Result<ParameterSpec> {
        let data = self.fields(value, name, "name dtype shape offset")?;
        let offset = self.integer(&data["offset"], &format!("{name}.offset"))?;
        if offset % ALIGNMENT != 0 {
            return Err(
                self.damaged(format!("{name}.offset is {offset}, not a multiple of {ALIGNMENT}"))
            );
        }
        let (dtype, width) = self.dtype(&data["dtype"], &format!("{name}.dtype"))?;
        let shape = self.sequence(&data["shape"], &format!("{name}.shape"), Self::integer)?;
        let end = shape
            .iter()
            .try_fold(width, |size, &count| size.checked_mul(count))
            .and_then(|size| size.checked_add(offset))
            .filter(|end| i64::try_from(*end).is_ok())
            .ok_or_else(|| self.damaged(format!("{name}.shape is larger than any file")))?;
        Ok(ParameterSpec {
            name: self.string(&data["name"], &format!("{name}.name"))?,
            dtype,
            shape,
            offset,
            end,
        })
    }

    fn fields<'v>(&self, value: &'v Value, name: &str, names: &str) -> Result<Json<'v>> {
        let data = self.mapping(value, name)?;
        let expected: BTreeSet<&str> = names.split_whitespace().collect();
        let present: BTreeSet<&str> = data.keys().map(String::as_str).collect();
        let missing: Vec<&str> = expected.difference(&present).copied().collect();
        let unknown: Vec<&str> = present.difference(&expected).copied().collect();
        let mut said = Vec::new();
        if !missing.is_empty() {
            said.push(format!("lacks {}", missing.join(", ")));
        }
        if !unknown.is_empty() {
            said.push(format!("has unknown {}", unknown.join(", ")));
        }
        if said.is_empty() {
            Ok(data)
        } else {
            Err(self.damaged(format!("{name} {}", said.join(" and "))))
        }
    }

    fn mapping<'v>(&self, value: &'v Value, name: &str) -> Result<Json<'v>> {
        value.as_object().ok_or_else(|| self.damaged(format!("{name} is not an object")))
    }

    fn table<T>(
        &self,
        value: &Value,
        name: &str,
        item: fn(&Self, &Value, &str) -> Result<T>,
    ) -> Result<BTreeMap<String, T>> {
        self.mapping(value, name)?
            .iter()
            .map(|(key, entry)| Ok((key.clone(), item(self, entry, &format!("{name}.{key}"))?)))
            .collect()
    }

    fn sequence<T>(
        &self,
        value: &Value,
        name: &str,
        item: fn(&Self, &Value, &str) -> Result<T>,
    ) -> Result<Vec<T>> {
        value
            .as_array()
            .ok_or_else(|| self.damaged(format!("{name} is not a list")))?
            .iter()
            .enumerate()
            .map(|(index, entry)| item(self, entry, &format!("{name}[{index}]")))
            .collect()
    }

    fn optional<T>(
        &self,
        value: &Value,
        name: &str,
        item: fn(&Self, &Value, &str) -> Result<T>,
    ) -> Result<Option<T>> {
        match value {
            Value::Null => Ok(None),
            other => item(self, other, name).map(Some),
        }
    }

    fn string(&self, value: &Value, name: &str) -> Result<String> {
        value
            .as_str()
            .map(str::to_string)
            .ok_or_else(|| self.damaged(format!("{name} is {value}, not a string")))
    }

    fn integer(&self, value: &Value, name: &str) -> Result<u64> {
        value
            .as_u64()
            .ok_or_else(|| self.damaged(format!("{name} is {value}, not a whole number from 0 up")))
    }

    fn measure(&self, value: &Value, name: &str) -> Result<f64> {
        value
            .as_f64()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| self.damaged(format!("{name} is {value}, not a number from 0 up")))
    }

    fn digits(&self, value: &Value, name: &str) -> Result<String> {
        let text = if value.is_number() { value.to_string() } else { String::new() };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            let what = format!("{name} is {value}, not a whole number from 0 up");
            return Err(self.damaged(what));
        }
        Ok(text)
    }

    fn sha256(&self, value: &Value, name: &str) -> Result<String> {
        let text = value.as_str().filter(|text| {
            text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        });
        text.map(str::to_string)
            .ok_or_else(|| self.damaged(format!("{name} is {value}, not 64 hexadecimal digits")))
    }

    fn dtype(&self, value: &Value, name: &str) -> Result<(String, u64)> {
        let known = value.as_str().and_then(|text| DTYPES.iter().find(|(d, _)| *d == text));
        known.map(|(dtype, width)| ((*dtype).to_string(), *width)).ok_or_else(|| {
            let names: Vec<&str> = DTYPES.iter().map(|(dtype, _)| *dtype).collect();
            self.damaged(format!("{name} is {value}, not one of {}", names.join(", ")))
        })
    }

    fn dimension(&self, value: &Value, name: &str) -> Result<Dimension> {
        match value.as_str() {
            None => Ok(Dimension::Fixed(self.integer(value, name)?)),
            Some(text) => affine(text).ok_or_else(|| {
                self.damaged(format!("{name} is {value}, not [factor*]symbol[+constant]"))
            }),
        }
    }
}
