//! The machine that a shared library is for, from the first bytes of the file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::errors::{reason, Error, Result};

/// The system and the architecture of a library, such as ("linux", "x86_64").
pub type Machine = (&'static str, String);

/// How an ELF file of 64 bits begins whose numbers have the lowest byte first.
const ELF: &[u8] = b"\x7fELF\x02\x01";

/// The machine that this program runs on.
pub fn here() -> Machine {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    (system, std::env::consts::ARCH.to_string())
}

/// The machine of a 64-bit little-endian ELF or Mach-O library.
pub fn library_machine(path: &Path) -> Result<Machine> {
    let mut header = Vec::new();
    File::open(path)
        .and_then(|file| file.take(20).read_to_end(&mut header))
        .map_err(|e| Error::artifact(format!("cannot read {}: {}", path.display(), reason(&e))))?;
    machine_of(&header).ok_or_else(|| {
        let start: Vec<String> = header.iter().map(|byte| format!("{byte:02x}")).collect();
        Error::artifact(format!(
            "{} is not a shared library: it starts with {}",
            path.display(),
            start.join(" ")
        ))
    })
}

fn machine_of(header: &[u8]) -> Option<Machine> {
    if header.len() < 20 {
        return None;
    }
    if header.starts_with(ELF) {
        let machine = u16::from_le_bytes([header[18], header[19]]);
        let name = match machine {
            62 => "x86_64".to_string(),
            183 => "aarch64".to_string(),
            other => format!("ELF machine {other}"),
        };
        return Some(("linux", name));
    }
    if header.starts_with(&0xfeed_facf_u32.to_le_bytes()) {
        let machine = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let name = match machine {
            0x0100_0007 => "x86_64".to_string(),
            0x0100_000c => "aarch64".to_string(),
            other => format!("Mach-O machine {other:#x}"),
        };
        return Some(("darwin", name));
    }
    None
}

/// Check that an ELF library has all bytes that the loader maps: where one lacks some, it would end
/// this process at the first page that is missing.
pub fn check_length(path: &Path) -> Result<()> {
    let damaged = |what: &str| {
        Error::environment(format!(
            "{} is damaged: {what}; copy it again, or make the bundle anew with: kokoro-pipeline \
             bundle",
            path.display()
        ))
    };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("it ends in its headers"),
        _ => damaged(&reason(&error)),
    };
    let file = File::open(path).map_err(failed)?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).map_err(failed)?;
    if !header.starts_with(ELF) {
        return Ok(());
    }
    let word =
        |bytes: &[u8], at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let half = |at| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let size = file.metadata().map_err(failed)?.len();
    for index in 0..half(56) {
        let mut segment = [0; 56];
        let at = word(&header, 32).saturating_add(index * half(54));
        file.read_exact_at(&mut segment, at).map_err(failed)?;
        let end = word(&segment, 8).saturating_add(word(&segment, 32));
        if end > size {
            return Err(damaged(&format!("it has {size} bytes of {end}")));
        }
    }
    Ok(())
}

/// Check that a library is for this machine; the evidence as text.
pub fn check_machine(path: &Path) -> Result<String> {
    let (built, here) = (library_machine(path)?, here());
    if built != here {
        return Err(Error::artifact(format!(
            "{} is a library for {} on {}, this machine is {} on {}: build the artifact here with \
             kokoro-pipeline build",
            path.display(),
            built.1,
            built.0,
            here.1,
            here.0
        )));
    }
    Ok(format!("a library for {} on {}", built.1, built.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_was_cut_is_told() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.so");
        for (kept, cause) in [
            (whole.len(), ""),
            (50_000, "it has 50000 bytes of "),
            (100, "it ends in its headers"),
            (0, "it ends in its headers"),
        ] {
            std::fs::write(&file, &whole[..kept]).unwrap();
            let said = check_length(&file).map_err(|error| error.to_string());
            assert_eq!(said.is_ok(), cause.is_empty(), "{kept}: {said:?}");
            assert!(said.is_ok() || said.unwrap_err().contains(cause));
        }
        std::fs::write(&file, [b'x'; 64]).unwrap();
        assert!(check_length(&file).is_ok(), "what is no library is told by the loader");
    }

    #[test]
    fn machines_are_told_apart() {
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(18, 0);
        elf.extend([183, 0]);
        assert_eq!(machine_of(&elf), Some(("linux", "aarch64".to_string())));
        elf[18] = 62;
        assert_eq!(machine_of(&elf), Some(("linux", "x86_64".to_string())));
        let mut macho = vec![0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1];
        macho.resize(20, 0);
        assert_eq!(machine_of(&macho), Some(("darwin", "aarch64".to_string())));
        assert_eq!(machine_of(b"\x7fELF\x02\x01"), None);
        assert_eq!(machine_of(&[0; 20]), None);
    }
}
