//! Where TVM's two libraries are, and which version they have.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::errors::{reason, Error, Result};
use crate::tvm;

/// The environment variable that names the folders of TVM's libraries, separated by ":".
pub const ENVIRONMENT_VARIABLE: &str = "KOKORO_TVM_LIBS";
/// The file beside a bundle's artifact that says where its parts are.
pub const BUNDLE_NAME: &str = "bundle.json";
/// The file beside TVM's libraries in a bundle that says which versions they are.
pub const VERSIONS_NAME: &str = "tvm-versions.json";

const SUPPORTED: (u64, u64) = (0, 27);

/// TVM's two libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libraries {
    /// libtvm_ffi, with TVM's C ABI.
    pub ffi: PathBuf,
    /// libtvm_runtime, with the VM.
    pub runtime: PathBuf,
    /// The version of apache-tvm that the runtime belongs to.
    pub tvm_version: String,
}

/// Find TVM's libraries for an artifact.
///
/// They are looked for in the folders of `KOKORO_TVM_LIBS` if it is set, and nowhere else then. If
/// it is not set: beside the program (or the shared library that contains this code), in `../lib`
/// seen from there, and in the folder that the bundle around the artifact names. The current
/// folder and the loader's own paths are never searched.
///
/// The version of TVM is that of `tvm-versions.json` beside the runtime, or of the wheel that the
/// runtime is installed from. A runtime of unknown version is refused.
pub fn find(artifact: &Path) -> Result<Libraries> {
    let folders = match std::env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => given_folders(&value)?,
        None => known_folders(artifact)?,
    };
    find_in(&folders)
}

/// Load the libraries into this process.
pub(crate) fn load(libraries: &Libraries) -> Result<()> {
    if release(&libraries.tvm_version) != Some(SUPPORTED) {
        return Err(Error::environment(format!(
            "{} is of apache-tvm {}, and this program runs on apache-tvm {}.{}: set \
             {ENVIRONMENT_VARIABLE} to the folders of that version's libraries",
            libraries.runtime.display(),
            libraries.tvm_version,
            SUPPORTED.0,
            SUPPORTED.1
        )));
    }
    // The pool reads this when it starts. Pinned workers of two pools would share cores.
    if std::env::var_os("TVM_BIND_THREADS").is_none() {
        std::env::set_var("TVM_BIND_THREADS", "0");
    }
    tvm::start(&libraries.ffi, &libraries.runtime)
}

/// The first two numbers of a version, such as (0, 27) of "0.27.0.post1".
pub fn release(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim().trim_start_matches('v').split('.');
    let mut number = || -> Option<u64> {
        let part = parts.next()?;
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    Some((number()?, number().unwrap_or(0)))
}

/// The artifact of the bundle that this program is in, if it is in one.
///
/// Fails if the bundle does not say where its artifact is.
pub fn bundled_artifact() -> Result<Option<PathBuf>> {
    let program = std::env::current_exe().ok();
    match program.as_deref().and_then(Path::parent).and_then(Path::parent) {
        Some(bundle) => member(bundle, "artifact"),
        None => Ok(None),
    }
}

fn given_folders(value: &std::ffi::OsStr) -> Result<Vec<PathBuf>> {
    let folders: Vec<PathBuf> =
        std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect();
    match folders.iter().find(|path| !path.is_absolute()) {
        Some(relative) => Err(Error::environment(format!(
            "{ENVIRONMENT_VARIABLE} names {}, which is not absolute: give absolute folders, \
             separated by \":\"",
            relative.display()
        ))),
        None => Ok(folders),
    }
}

fn known_folders(artifact: &Path) -> Result<Vec<PathBuf>> {
    let program = std::env::current_exe().ok();
    let mut folders = Vec::new();
    for file in [tvm::own_file(), program].into_iter().flatten() {
        let file = file.canonicalize().unwrap_or(file);
        if let Some(folder) = file.parent() {
            for found in [Some(folder.to_path_buf()), folder.parent().map(|up| up.join("lib"))] {
                folders.extend(found.filter(|found| !folders.contains(found)));
            }
        }
    }
    let real = artifact.canonicalize().unwrap_or_else(|_| artifact.to_path_buf());
    if let Some(bundle) = real.parent() {
        let named = member(bundle, "libraries")?;
        folders.extend(named.filter(|found| !folders.contains(found)));
    }
    Ok(folders)
}

/// A folder that the bundle at `bundle` names; none if it is no bundle.
fn member(bundle: &Path, name: &str) -> Result<Option<PathBuf>> {
    let file = bundle.join(BUNDLE_NAME);
    let Some(value) = read_json(&file)? else { return Ok(None) };
    let relative = value.get(name).and_then(Value::as_str);
    match relative.filter(|path| crate::artifact::manifest::is_safe_path(path)) {
        Some(path) => Ok(Some(bundle.join(path))),
        None => Err(Error::artifact(format!(
            "{} is damaged: it does not name its {name}; make the bundle anew with: \
             kokoro-pipeline bundle",
            file.display()
        ))),
    }
}

/// The JSON in a file, null if it is damaged; none if there is no such file.
fn read_json(file: &Path) -> Result<Option<Value>> {
    match std::fs::read(file) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).unwrap_or_default())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let why = reason(&error);
            Err(Error::environment(format!("cannot read {}: {why}", file.display())))
        }
    }
}

fn find_in(folders: &[PathBuf]) -> Result<Libraries> {
    let suffix = if cfg!(target_os = "macos") { "dylib" } else { "so" };
    let library = |stem: &str| {
        let name = format!("{stem}.{suffix}");
        let found = folders.iter().map(|folder| folder.join(&name)).find(|file| file.is_file());
        found.ok_or_else(|| {
            let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
            Error::environment(format!(
                "{name} is not there (searched {}): set {ENVIRONMENT_VARIABLE} to the folders of \
                 TVM's libraries, separated by \":\", such as the folders tvm/lib and tvm_ffi/lib \
                 of an installation by pip, or make a folder that has everything with: \
                 kokoro-pipeline bundle",
                searched.join(", ")
            ))
        })
    };
    let (ffi, runtime) = (library("libtvm_ffi")?, library("libtvm_runtime")?);
    let tvm_version = version_of(&runtime)?;
    Ok(Libraries { ffi, runtime, tvm_version })
}

fn version_of(runtime: &Path) -> Result<String> {
    let folder = runtime.parent().unwrap_or(Path::new("/"));
    let file = folder.join(VERSIONS_NAME);
    if let Some(value) = read_json(&file)? {
        let version = value.get("apache-tvm").and_then(Value::as_str);
        return version.map(str::to_string).ok_or_else(|| {
            Error::environment(format!(
                "{} is damaged: it does not say {{\"apache-tvm\": \"VERSION\"}}; copy the libraries \
                 again, or make the bundle anew with: kokoro-pipeline bundle",
                file.display()
            ))
        });
    }
    // A wheel installs `tvm/lib/libtvm_runtime.so` beside `apache_tvm-VERSION.dist-info`.
    let packages = folder.parent().and_then(Path::parent);
    let entries = packages.and_then(|packages| std::fs::read_dir(packages).ok());
    let versions: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("apache_tvm-")?.strip_suffix(".dist-info")?.to_string())
        })
        .collect();
    match versions.as_slice() {
        [version] => Ok(version.clone()),
        _ => Err(Error::environment(format!(
            "cannot tell the version of {}: it is in no installation by pip, and there is no \
             {VERSIONS_NAME} beside it; make one that says {{\"apache-tvm\": \"VERSION\"}}, or a \
             whole folder with: kokoro-pipeline bundle",
            runtime.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn releases_are_two_numbers() {
        let table = [
            ("0.27.0.post1", Some((0, 27))),
            ("0.27", Some((0, 27))),
            ("1", Some((1, 0))),
            ("0.28.dev0", Some((0, 28))),
            ("", None),
            ("new", None),
        ];
        for (text, expected) in table {
            assert_eq!(release(text), expected, "{text}");
        }
    }

    #[test]
    fn versions_come_from_the_wheel_or_from_the_bundle() {
        let root = tempfile::tempdir().unwrap();
        let packages = root.path();
        touch(&packages.join("tvm/lib/libtvm_runtime.so"));
        touch(&packages.join("tvm_ffi/lib/libtvm_ffi.so"));
        let folders = [packages.join("tvm/lib"), packages.join("tvm_ffi/lib")];
        let error = find_in(&folders).unwrap_err().to_string();
        assert!(error.contains("cannot tell the version"), "{error}");
        touch(&packages.join("apache_tvm-0.27.0.dist-info/METADATA"));
        touch(&packages.join("apache_tvm_ffi-0.1.15.dist-info/METADATA"));
        assert_eq!(find_in(&folders).unwrap().tvm_version, "0.27.0");
        std::fs::write(folders[0].join(VERSIONS_NAME), r#"{"apache-tvm": "0.30.1"}"#).unwrap();
        assert_eq!(find_in(&folders).unwrap().tvm_version, "0.30.1");
        std::fs::write(folders[0].join(VERSIONS_NAME), "{}").unwrap();
        assert!(find_in(&folders).unwrap_err().to_string().contains("damaged"));
        let error = find_in(&folders[..1]).unwrap_err().to_string();
        assert!(error.contains("libtvm_ffi.so is not there"), "{error}");
    }

    #[test]
    fn folders_of_the_environment_are_absolute() {
        assert!(given_folders("lib".as_ref()).unwrap_err().to_string().contains("not absolute"));
        let folders = given_folders("/a::/b".as_ref()).unwrap();
        assert_eq!(folders, [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn a_bundle_names_its_folders() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(member(root.path(), "libraries").unwrap(), None);
        let file = root.path().join(BUNDLE_NAME);
        std::fs::write(&file, r#"{"libraries": "lib"}"#).unwrap();
        assert_eq!(member(root.path(), "libraries").unwrap(), Some(root.path().join("lib")));
        for damaged in ["", "{}", r#"{"libraries": "../lib"}"#, r#"{"libraries": "/lib"}"#] {
            std::fs::write(&file, damaged).unwrap();
            assert!(member(root.path(), "libraries").is_err(), "{damaged}");
        }
    }
}
