//! WAV files of 16-bit integers or 32-bit floats.
//!
//! A file that is written completely or not at all, or a stream that is written as audio comes.

use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, ErrorKind, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::errors::{reason, Error, Result};
use crate::SAMPLE_RATE;

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// 16-bit integers; samples beyond full scale are clipped.
    Pcm16,
    /// 32-bit floats, unchanged.
    Float32,
}

impl Format {
    fn width(self) -> u32 {
        match self {
            Format::Pcm16 => 2,
            Format::Float32 => 4,
        }
    }
}

/// The largest number of bytes that RIFF's 32-bit sizes can express.
const LARGEST: u64 = u32::MAX as u64;

/// The 16-bit value of a sample, and whether it was clipped.
pub fn pcm16(sample: f32) -> (i16, bool) {
    let value = (sample.clamp(-1.0, 1.0) * 32767.0).round_ties_even();
    (value as i16, sample.abs() > 1.0)
}

/// The header of a WAV file of `samples` mono samples, or of as many as follow if that is unknown.
pub fn header(format: Format, samples: Option<u64>) -> Result<Vec<u8>> {
    let width = format.width();
    let mut chunks = b"fmt ".to_vec();
    let extension: &[u8] = match format {
        Format::Pcm16 => &[],
        Format::Float32 => &[0, 0],
    };
    chunks.extend((16 + extension.len() as u32).to_le_bytes());
    let tag: u16 = match format {
        Format::Pcm16 => 1,
        Format::Float32 => 3,
    };
    chunks.extend(tag.to_le_bytes());
    chunks.extend(1u16.to_le_bytes());
    chunks.extend(SAMPLE_RATE.to_le_bytes());
    chunks.extend((SAMPLE_RATE * width).to_le_bytes());
    chunks.extend((width as u16).to_le_bytes());
    chunks.extend((8 * width as u16).to_le_bytes());
    chunks.extend(extension);
    if format == Format::Float32 {
        chunks.extend(b"fact");
        chunks.extend(4u32.to_le_bytes());
        chunks.extend(samples.map_or(u32::MAX, |count| count as u32).to_le_bytes());
    }
    chunks.extend(b"data");
    let rest = 4 + chunks.len() as u64 + 4;
    let (whole, data) = match samples {
        // What is not known yet is written as the largest size, as other programs do.
        None => (u32::MAX, u32::MAX),
        Some(count) => {
            let data = count.saturating_mul(u64::from(width));
            if data > LARGEST - 64 {
                return Err(too_long());
            }
            ((rest + data) as u32, data as u32)
        }
    };
    chunks.extend(data.to_le_bytes());
    let mut bytes = b"RIFF".to_vec();
    bytes.extend(whole.to_le_bytes());
    bytes.extend(b"WAVE");
    bytes.extend(chunks);
    Ok(bytes)
}

fn too_long() -> Error {
    Error::input("the samples do not fit a WAV file: split the audio")
}

enum Target {
    /// Written beside the file and renamed over it at the end.
    Beside { file: BufWriter<File>, temporary: PathBuf, path: PathBuf },
    /// A pipe, a device, or a file in a folder that takes no new ones, which is written over.
    Direct { file: BufWriter<File>, is_file: bool, shown: String },
    /// Standard output.
    Stdout,
}

/// Writes a WAV file as audio comes.
///
/// A regular file is complete when [`WavWriter::finish`] returns; before, and if anything fails,
/// what was there stays as it was. In a folder that takes no new files it stays until the first
/// samples. A stream has its header at the first samples: with the right sizes if their number is
/// known, else with the largest ones.
pub struct WavWriter {
    target: Target,
    format: Format,
    expected: Option<u64>,
    started: bool,
    written: u64,
    clipped: u64,
}

/// What writing failed with: an error, or the reader of the output has gone.
#[derive(Debug)]
pub enum WriteError {
    /// The reader has closed the pipe.
    Closed,
    /// Anything else.
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> WriteError {
        WriteError::Failed(error)
    }
}

impl WavWriter {
    /// A writer to a file. Fails if it cannot be written, before anything is synthesized.
    pub fn to_file(path: &Path, format: Format) -> Result<WavWriter> {
        let shown = path.display();
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
        if !matches!(suffix.as_deref(), None | Some("wav" | "wave")) {
            return Err(Error::input(format!(
                "cannot write {shown}: unknown format .{}; known is .wav",
                suffix.unwrap_or_default()
            )));
        }
        let refused = |why: &str| Error::input(format!("cannot write {shown}: {why}"));
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(refused("it names a folder; name a file in it"));
        }
        let target = match std::fs::metadata(path) {
            Ok(data) if data.is_dir() => return Err(refused("it is a folder; name a file in it")),
            Ok(data) if !data.is_file() => {
                // Opening a pipe waits for its reader.
                let file = OpenOptions::new().write(true).open(path);
                direct(file.map_err(|e| refused(&reason(&e)))?, false, path)
            }
            Ok(_) => {
                let writable = OpenOptions::new().append(true).open(path);
                writable.map_err(|e| refused(&reason(&e)))?;
                let real = path.canonicalize().map_err(|e| refused(&reason(&e)))?;
                match beside(&real) {
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        let file = OpenOptions::new().write(true).open(&real);
                        direct(file.map_err(|e| refused(&reason(&e)))?, true, path)
                    }
                    other => other.map_err(|e| refused(&reason(&e)))?,
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The target of symbolic links need not exist yet.
                let mut real = path.to_path_buf();
                while let Ok(to) = std::fs::read_link(&real) {
                    real = real.parent().unwrap_or(Path::new("")).join(to);
                }
                beside(&real).map_err(|error| {
                    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                    let folder = folder.unwrap_or(Path::new("."));
                    refused(&format!(
                        "{}; is {} a folder you can write to?",
                        reason(&error),
                        folder.display()
                    ))
                })?
            }
            Err(error) => return Err(refused(&reason(&error))),
        };
        Ok(WavWriter::new(target, format))
    }

    /// A writer to standard output. Fails if that is a terminal.
    pub fn to_stdout(format: Format) -> Result<WavWriter> {
        if std::io::stdout().is_terminal() {
            return Err(Error::input(
                "standard output is a terminal: pipe it (`… -o - | aplay`), or use -o FILE",
            ));
        }
        Ok(WavWriter::new(Target::Stdout, format))
    }

    fn new(target: Target, format: Format) -> WavWriter {
        WavWriter { target, format, expected: None, started: false, written: 0, clipped: 0 }
    }

    /// Whether a regular file is written, whose header is completed at the end.
    pub fn is_file(&self) -> bool {
        matches!(self.target, Target::Beside { .. } | Target::Direct { is_file: true, .. })
    }

    /// The number of samples written so far.
    pub fn samples(&self) -> u64 {
        self.written
    }

    /// Say how many samples will be written in all, before the first.
    pub fn expect(&mut self, samples: u64) -> Result<()> {
        header(self.format, Some(samples))?;
        self.expected = Some(samples);
        Ok(())
    }

    /// Write samples and pass them on to the reader.
    pub fn write(&mut self, samples: &[f32]) -> std::result::Result<(), WriteError> {
        self.start()?;
        if (self.written + samples.len() as u64) * u64::from(self.format.width()) > LARGEST - 64 {
            return Err(too_long().into());
        }
        let mut bytes = Vec::with_capacity(samples.len() * self.format.width() as usize);
        for &sample in samples {
            match self.format {
                Format::Float32 => bytes.extend(sample.to_le_bytes()),
                Format::Pcm16 => {
                    let (value, clipped) = pcm16(sample);
                    self.clipped += u64::from(clipped);
                    bytes.extend(value.to_le_bytes());
                }
            }
        }
        self.put(&bytes)?;
        self.written += samples.len() as u64;
        Ok(())
    }

    /// Complete the output; the number of clipped samples.
    pub fn finish(mut self) -> std::result::Result<u64, WriteError> {
        self.start()?;
        let right = header(self.format, Some(self.written))?;
        let outcome = match &mut self.target {
            Target::Beside { file, temporary, path } => begin_with(file, &right)
                .and_then(|()| match std::fs::metadata(&path) {
                    Ok(old) => std::fs::set_permissions(&temporary, old.permissions()),
                    Err(_) => Ok(()),
                })
                .and_then(|()| std::fs::rename(&temporary, &path)),
            Target::Direct { file, is_file: true, .. } => begin_with(file, &right),
            Target::Direct { .. } | Target::Stdout => Ok(()),
        };
        outcome.map_err(|error| self.failure(&error))?;
        Ok(self.clipped)
    }

    fn start(&mut self) -> std::result::Result<(), WriteError> {
        if !self.started {
            self.started = true;
            if let Target::Direct { file, is_file: true, .. } = &self.target {
                file.get_ref().set_len(0).map_err(|error| self.failure(&error))?;
            }
            self.put(&header(self.format, self.expected)?)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> std::result::Result<(), WriteError> {
        let done = match &mut self.target {
            Target::Beside { file, .. } => file.write_all(bytes),
            Target::Direct { file, .. } => file.write_all(bytes).and_then(|()| file.flush()),
            Target::Stdout => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        done.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &std::io::Error) -> WriteError {
        let what = match &self.target {
            Target::Stdout if error.kind() == ErrorKind::BrokenPipe => return WriteError::Closed,
            Target::Stdout => "the audio".to_string(),
            Target::Direct { shown, .. } => shown.clone(),
            Target::Beside { path, .. } => path.display().to_string(),
        };
        let message = format!("cannot write {what}: {}", reason(error));
        WriteError::Failed(Error::environment(message))
    }
}

impl Drop for WavWriter {
    fn drop(&mut self) {
        if let Target::Beside { temporary, .. } = &self.target {
            // After a success it is not there any more.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn direct(file: File, is_file: bool, path: &Path) -> Target {
    Target::Direct { file: BufWriter::new(file), is_file, shown: path.display().to_string() }
}

/// Write over the beginning of a file.
fn begin_with(file: &mut BufWriter<File>, header: &[u8]) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(header)?;
    file.flush()
}

fn beside(path: &Path) -> std::io::Result<Target> {
    let name = path.file_name().ok_or_else(|| std::io::Error::from(ErrorKind::InvalidInput))?;
    let short: String = name.to_string_lossy().chars().take(50).collect();
    // The number of a process is the same in every container, and an ended one's file may be there.
    let random = RandomState::new().build_hasher().finish() as u32;
    let temporary = path.with_file_name(format!(".{short}.{random:08x}"));
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    Ok(Target::Beside { file: BufWriter::new(file), temporary, path: path.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_file_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        std::fs::write(&path, "before").unwrap();
        let mut writer = WavWriter::to_file(&path, Format::Pcm16).unwrap();
        writer.write(&[0.5; 100]).unwrap();
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_of_the_same_name_have_their_own_temporaries() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        let begun = || WavWriter::to_file(&path, Format::Pcm16).unwrap();
        let (first, second) = (begun(), begun());
        second.finish().unwrap();
        first.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_last_of_several_links_leads_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("b.wav", at("a.wav")).unwrap();
        std::os::unix::fs::symlink(at("c.wav"), at("b.wav")).unwrap();
        WavWriter::to_file(&at("a.wav"), Format::Pcm16).unwrap().finish().unwrap();
        assert!(at("b.wav").is_symlink() && !at("c.wav").is_symlink() && at("c.wav").is_file());
    }

    #[test]
    fn a_finished_file_has_the_right_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        for (format, width) in [(Format::Pcm16, 2), (Format::Float32, 4)] {
            let mut writer = WavWriter::to_file(&path, format).unwrap();
            writer.write(&[0.5; 100]).unwrap();
            writer.write(&[2.0; 50]).unwrap();
            let clipped = writer.finish().unwrap();
            assert_eq!(clipped, if format == Format::Pcm16 { 50 } else { 0 });
            let bytes = std::fs::read(&path).unwrap();
            let right = header(format, Some(150)).unwrap();
            assert_eq!(&bytes[..right.len()], right);
            assert_eq!(bytes.len(), right.len() + 150 * width);
            let whole = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
            assert_eq!(whole as usize, bytes.len() - 8);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_refused_first() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            (folder.path().to_path_buf(), "it is a folder"),
            (folder.path().join("none/a.wav"), "No such file"),
            (folder.path().join("a.mp3"), "unknown format .mp3"),
            (folder.path().join("a.wav/"), "it names a folder"),
        ];
        for (path, cause) in table {
            let error = WavWriter::to_file(&path, Format::Pcm16).err().unwrap();
            assert!(error.to_string().contains(cause), "{error}");
            assert_eq!(error.exit_code(), 3);
        }
        assert!(header(Format::Pcm16, Some(1 << 31)).is_err());
    }
}
