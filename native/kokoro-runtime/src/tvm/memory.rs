//! Memory that tensors lie in: buffers at multiples of 64, and mapped files.

use std::fs::File;
use std::path::Path;

use crate::errors::{reason, Error, Result};

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Block([u8; 64]);

/// From this size on, memory is mapped, so that it goes back to the system when it is freed.
const MAPPED: usize = 1 << 20;

/// Zeroed memory at an address that is a multiple of 64, which moves do not change.
pub enum Buffer {
    Blocks(Vec<Block>),
    Mapped(memmap2::MmapMut),
}

impl Buffer {
    pub fn zeroed(bytes: usize) -> Result<Buffer> {
        if bytes < MAPPED {
            return Ok(Buffer::Blocks(vec![Block([0; 64]); bytes.div_ceil(64).max(1)]));
        }
        memmap2::MmapMut::map_anon(bytes).map(Buffer::Mapped).map_err(|error| {
            let why = reason(&error);
            Error::environment(format!("there is no memory for a tensor of {bytes} bytes: {why}"))
        })
    }

    pub fn pointer(&mut self) -> *mut u8 {
        match self {
            Buffer::Blocks(blocks) => blocks.as_mut_ptr().cast(),
            Buffer::Mapped(map) => map.as_mut_ptr(),
        }
    }
}

/// A file that is mapped read-only. Processes that map the same file share its pages.
pub struct Mapping(memmap2::Mmap);

impl Mapping {
    /// Map a file that is not empty.
    pub fn open(path: &Path) -> Result<Mapping> {
        let failed = |error: std::io::Error| {
            Error::artifact(format!(
                "cannot map the parameters {}: {}",
                path.display(),
                reason(&error)
            ))
        };
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the map is only read. Whoever truncates the file of a loaded artifact stops this
        // process, as with every mapped file; the documentation says so.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(Mapping(map))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
