//! Opening artifacts: nothing is loaded unless the manifest, the file sizes and the library match.
//!
//! The hashes detect damage, but they are not a signature: open only artifacts that you trust.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::binary::{check_length, check_machine};
use super::cpu::check_target;
use super::manifest::{
    self, hex, Manifest, CONFIG_NAME, MANIFEST_NAME, PARAMETERS_NAME, VOICES_FOLDER,
};
use crate::errors::{reason, Error, Result};
use crate::libraries::{self, Libraries};

const LARGEST_MANIFEST: u64 = 64 << 20;
const TVM: &str = "apache-tvm";

/// An artifact folder and its manifest.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The folder, as it was named.
    pub path: PathBuf,
    /// The checked manifest.
    pub manifest: Manifest,
}

impl Artifact {
    /// The compiled library.
    pub fn library(&self) -> PathBuf {
        self.path.join(self.manifest.library())
    }

    /// The parameter file.
    pub fn parameters(&self) -> PathBuf {
        self.path.join(PARAMETERS_NAME)
    }

    /// The model's configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join(CONFIG_NAME)
    }

    /// The folder of voice packs.
    pub fn voices(&self) -> PathBuf {
        self.path.join(VOICES_FOLDER)
    }
}

/// The result of one check; `detail` is the evidence, or the problem and its remedy.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// What was checked.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
    /// The evidence, or the problem.
    pub detail: String,
}

/// Read and check the manifest of a folder, and nothing else.
pub fn read(path: &Path) -> Result<Artifact> {
    let shown = path.display();
    if !path.is_dir() {
        let said =
            if path.exists() { "is a file, not an artifact folder" } else { "does not exist" };
        return Err(Error::artifact(format!(
            "{shown} {said}: build one with kokoro-pipeline build -o DIR"
        )));
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if real.file_name().and_then(|name| name.to_str()).is_some_and(is_unfinished) {
        return Err(Error::artifact(format!(
            "{shown} is an unfinished build: load the folder that it was built for"
        )));
    }
    let file = path.join(MANIFEST_NAME);
    let mut raw = Vec::new();
    // A pipe, say, for which opening would wait.
    if file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let shown = file.display();
        return Err(Error::artifact(format!("{shown} is no file; build the artifact anew")));
    }
    let content = File::open(&file)
        .and_then(|stream| stream.take(LARGEST_MANIFEST + 1).read_to_end(&mut raw));
    if let Err(error) = content {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Err(Error::artifact(format!(
                "{shown} is not an artifact: it has no {MANIFEST_NAME}; build one with \
                 kokoro-pipeline build -o DIR"
            )));
        }
        let why = reason(&error);
        return Err(Error::artifact(format!("cannot read {}: {why}", file.display())));
    }
    let damaged = |what: String| Error::artifact(format!("{} is damaged: {what}", file.display()));
    if raw.len() as u64 > LARGEST_MANIFEST {
        return Err(damaged(format!("it has over {LARGEST_MANIFEST} bytes")));
    }
    let text =
        String::from_utf8(raw).map_err(|e| damaged(format!("{e}; build the artifact anew")))?;
    let manifest = manifest::loads(&text, &file.display().to_string())?;
    Ok(Artifact { path: path.to_path_buf(), manifest })
}

/// Read the manifest of an artifact and check that it can run here with these libraries.
///
/// Checks the manifest, the sizes of all files, the hashes of the library and the configuration,
/// the machine of the library, the version of TVM and the features of the CPU. Only [`verify`]
/// checks the hash of the parameters.
pub fn open(path: &Path) -> Result<(Artifact, Libraries)> {
    let artifact = read(path)?;
    for name in artifact.manifest.files.keys() {
        check_size(&artifact, name)?;
    }
    check_hash(&artifact, artifact.manifest.library())?;
    if artifact.manifest.files.contains_key(CONFIG_NAME) {
        check_hash(&artifact, CONFIG_NAME)?;
    }
    check_machine(&artifact.library())?;
    let libraries = libraries::find(&artifact.path)?;
    check_tvm(&artifact, &libraries)?;
    check_target(&artifact.manifest.target, &path.display().to_string())?;
    Ok((artifact, libraries))
}

/// Check everything that can be checked without running the artifact.
///
/// If the manifest is damaged, this is the only (failed) check. Fails if `path` is not an artifact
/// folder at all.
pub fn verify(path: &Path) -> Result<Vec<CheckResult>> {
    if !path.join(MANIFEST_NAME).is_file() {
        read(path)?;
    }
    let check = |name: &str, result: Result<String>| match result {
        Ok(detail) => CheckResult { name: name.to_string(), passed: true, detail },
        Err(error) => {
            CheckResult { name: name.to_string(), passed: false, detail: error.to_string() }
        }
    };
    let artifact = match read(path) {
        Ok(artifact) => artifact,
        Err(error) => return Ok(vec![check(MANIFEST_NAME, Err(error))]),
    };
    let manifest = &artifact.manifest;
    let mut results = vec![check(MANIFEST_NAME, Ok(format!("sha256 {}", manifest.sha256)))];
    for name in manifest.files.keys() {
        results.push(check(name, check_hash(&artifact, name)));
    }
    results.push(check("unlisted files", check_unlisted(&artifact)));
    results.push(check("machine", check_machine(&artifact.library())));
    let libraries = libraries::find(&artifact.path);
    results.push(check("TVM", libraries.and_then(|found| check_tvm(&artifact, &found))));
    let target = check_target(&manifest.target, &path.display().to_string());
    results.push(check("CPU", target));
    Ok(results)
}

/// Whether a folder's name is that of a build that has not ended: `.NAME.building-PID-HEX`.
fn is_unfinished(name: &str) -> bool {
    let Some((output, suffix)) = name.rsplit_once(".building-") else { return false };
    let Some((pid, random)) = suffix.split_once('-') else { return false };
    output.len() > 1
        && output.starts_with('.')
        && !pid.is_empty()
        && pid.bytes().all(|b| b.is_ascii_digit())
        && !random.is_empty()
        && random.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn check_size(artifact: &Artifact, name: &str) -> Result<()> {
    let file = artifact.path.join(name);
    let data = std::fs::metadata(&file).map_err(|error| {
        Error::artifact(format!("{} lacks {name}: {}", artifact.path.display(), reason(&error)))
    })?;
    if !data.is_file() {
        return Err(Error::artifact(format!("{} is not a file", file.display())));
    }
    let expected = artifact.manifest.files[name].size;
    if data.len() != expected {
        return Err(Error::artifact(format!(
            "{} is damaged: it has {} bytes, the manifest says {expected}; copy the artifact again \
             or build it anew",
            file.display(),
            data.len()
        )));
    }
    Ok(())
}

fn check_hash(artifact: &Artifact, name: &str) -> Result<String> {
    check_size(artifact, name)?;
    let entry = &artifact.manifest.files[name];
    let file = artifact.path.join(name);
    let actual = file_sha256(&file)
        .map_err(|e| Error::artifact(format!("cannot read {}: {}", file.display(), reason(&e))))?;
    if actual != entry.sha256 {
        return Err(Error::artifact(format!(
            "{} is damaged: its sha256 is {actual}, the manifest says {}; copy the artifact again \
             or build it anew",
            file.display(),
            entry.sha256
        )));
    }
    Ok(format!("{} bytes, sha256 {}", entry.size, entry.sha256))
}

fn file_sha256(file: &Path) -> std::io::Result<String> {
    let mut stream = File::open(file)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 1 << 18];
    loop {
        match stream.read(&mut chunk)? {
            0 => return Ok(hex(&digest.finalize())),
            count => digest.update(&chunk[..count]),
        }
    }
}

fn check_unlisted(artifact: &Artifact) -> Result<String> {
    fn collect(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                collect(&entry.path(), &format!("{name}/"), found)?;
            } else if !entry.path().is_dir() {
                found.insert(name);
            }
        }
        Ok(())
    }
    let shown = artifact.path.display();
    let mut found = BTreeSet::new();
    collect(&artifact.path, "", &mut found)
        .map_err(|error| Error::artifact(format!("cannot list {shown}: {}", reason(&error))))?;
    let files = &artifact.manifest.files;
    let extra: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|name| *name != MANIFEST_NAME && !files.contains_key(*name))
        .collect();
    if !extra.is_empty() {
        return Err(Error::artifact(format!(
            "{shown} holds files that its manifest does not list: {}; move them elsewhere",
            extra.join(", ")
        )));
    }
    Ok(format!("{} files, all listed", files.len() + 1))
}

fn check_tvm(artifact: &Artifact, libraries: &Libraries) -> Result<String> {
    check_length(&libraries.ffi)?;
    check_length(&libraries.runtime)?;
    let built = artifact.manifest.versions.get(TVM).map(String::as_str);
    let here = libraries.tvm_version.as_str();
    let said = built.unwrap_or("(not recorded)");
    let same = match built {
        None => false,
        Some(built) => {
            let release = |version: &str| {
                libraries::release(version).ok_or_else(|| {
                    Error::artifact(format!(
                        "{}: cannot compare versions of {TVM}: {version:?} is none",
                        artifact.path.display()
                    ))
                })
            };
            release(built)? == release(here)?
        }
    };
    if !same {
        return Err(Error::artifact(format!(
            "{} was built with {TVM} {said}, this is {TVM} {here} in {}: build the artifact anew, \
             or set KOKORO_TVM_LIBS to the libraries of {TVM} {}",
            artifact.path.display(),
            libraries.runtime.display(),
            built.unwrap_or(here)
        )));
    }
    Ok(format!("built with {TVM} {said}, running {here}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_builds_are_known_by_their_name() {
        for name in [".kokoro.building-12-0a1f", ".a.b.building-1-0"] {
            assert!(is_unfinished(name), "{name}");
        }
        for name in
            ["kokoro", ".building-1-0", "x.building-1-0", ".a.building-x-0", ".a.building-1-"]
        {
            assert!(!is_unfinished(name), "{name}");
        }
    }
}
