//! The permission to use the tiles of Intel AMX, which Linux gives to a process on request.
//!
//! It holds for all threads, those that run already and those that start later, as
//! `kokoro_pipeline/artifact/amx.py` says.

use crate::errors::{Error, Result};

/// LLVM's names of what the tile kernels need.
pub const FEATURES: [&str; 2] = ["amx-bf16", "amx-tile"];

/// The state components of the tiles, bits of XCR0: their configuration and their data.
const TILES: u64 = 1 << 17 | 1 << TILE_DATA;
const TILE_DATA: u64 = 18;

/// What is asked of Linux by arch_prctl.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Supported,
    Permitted,
    Request,
}

/// Request the permission for this process; the evidence as text.
pub fn permit_tiles(artifact: &str) -> Result<String> {
    permit(artifact, ask)
}

/// `ask` gives a set of components, or the number of an error.
fn permit(
    artifact: &str,
    mut ask: impl FnMut(Question) -> std::result::Result<u64, i32>,
) -> Result<String> {
    let denied = |evidence: String| {
        Error::artifact(format!(
            "{artifact} computes with AMX tiles, which this system does not permit: {evidence}. \
             Run it on Linux 5.16 or newer, outside of an emulator, where seccomp allows \
             arch_prctl; or build one without tiles: kokoro-pipeline build --mcpu x86-64-v4 -o DIR"
        ))
    };
    let fails = |call: &str, number: i32| {
        denied(format!("arch_prctl({call}) fails: {}", std::io::Error::from_raw_os_error(number)))
    };
    let supported =
        ask(Question::Supported).map_err(|number| fails("ARCH_GET_XCOMP_SUPP", number))?;
    if supported & TILES != TILES {
        return Err(denied(format!("XCR0 is {supported:#x}, without bits 17 and 18 for tiles")));
    }
    ask(Question::Request).map_err(|number| fails("ARCH_REQ_XCOMP_PERM, 18", number))?;
    let permitted =
        ask(Question::Permitted).map_err(|number| fails("ARCH_GET_XCOMP_PERM", number))?;
    if permitted >> TILE_DATA & 1 == 0 {
        return Err(denied(format!("the permission was given and is {permitted:#x}")));
    }
    Ok("the kernel permits AMX tiles".to_string())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)] // one system call, which libc has no function for
fn ask(question: Question) -> std::result::Result<u64, i32> {
    let mut value = 0_u64;
    let pointer = std::ptr::addr_of_mut!(value) as u64;
    let (code, argument) = match question {
        Question::Supported => (0x1021_i64, pointer),
        Question::Permitted => (0x1022, pointer),
        Question::Request => (0x1023, TILE_DATA),
    };
    // SAFETY: the two questions write eight bytes to `value`, and the request has a plain number.
    match unsafe { libc::syscall(libc::SYS_arch_prctl, code, argument) } {
        0 => Ok(value),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn ask(_: Question) -> std::result::Result<u64, i32> {
    Err(libc::ENOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of a kernel, and what it was asked.
    fn answer(
        supported: std::result::Result<u64, i32>,
        request: std::result::Result<u64, i32>,
        permitted: u64,
    ) -> (Result<String>, Vec<Question>) {
        let mut asked = Vec::new();
        let result = permit("DIR", |question| {
            asked.push(question);
            match question {
                Question::Supported => supported,
                Question::Request => request,
                Question::Permitted => Ok(permitted),
            }
        });
        (result, asked)
    }

    #[test]
    fn a_permission_is_requested_and_looked_at() {
        let (result, asked) = answer(Ok(0x600e7), Ok(0), 0x600e7);
        assert!(result.unwrap().contains("permits AMX tiles"));
        assert_eq!(asked, [Question::Supported, Question::Request, Question::Permitted]);
    }

    #[test]
    fn a_denial_names_the_answer_and_the_remedy() {
        let cases = [
            (answer(Ok(0x600e7), Err(libc::EPERM), 0).0, "ARCH_REQ_XCOMP_PERM, 18) fails: Op"),
            (answer(Err(libc::EPERM), Ok(0), 0).0, "ARCH_GET_XCOMP_SUPP) fails: Operation"),
            (answer(Err(libc::EINVAL), Ok(0), 0).0, "ARCH_GET_XCOMP_SUPP) fails: Invalid"),
            (answer(Ok(0xe7), Ok(0), 0).0, "XCR0 is 0xe7, without bits 17 and 18"),
            (answer(Ok(0x600e7), Ok(0), 0xe7).0, "is 0xe7"),
        ];
        for (result, evidence) in cases {
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("DIR computes with AMX tiles"), "{error}");
            assert!(error.contains(evidence), "{error}");
            assert!(error.contains("build --mcpu x86-64-v4"), "{error}");
        }
    }

    #[test]
    fn without_support_nothing_is_requested() {
        assert_eq!(answer(Ok(0xe7), Ok(0), 0).1, [Question::Supported]);
    }
}
