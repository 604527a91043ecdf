//! The machine that a shared library is for, from the first bytes of the file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::errors::{reason, Error, Result};

/// The system and the architecture of a library, such as ("linux", "x86_64").
pub type Machine = (&'static str, String);

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
    if header.starts_with(b"\x7fELF\x02\x01") {
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
