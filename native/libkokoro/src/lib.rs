//! The C ABI of the native Kokoro runtime; `kokoro.h` is made from this file.

#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

use std::cell::RefCell;
use std::ffi::{c_char, c_void, CStr, CString};

use kokoro_runtime::speech::noise::Seed;
use kokoro_runtime::{guarded, Error, Options, Request, Result, Synthesizer};

/// Done.
pub const KOKORO_OK: i32 = 0;
/// Bad input, a bad artifact, or something that the machine lacks; `kokoro_error` says what.
pub const KOKORO_FAILED: i32 = 3;
/// A defect of this library; `kokoro_error` says what.
pub const KOKORO_DEFECT: i32 = 4;
/// The callback has stopped the synthesis.
pub const KOKORO_STOPPED: i32 = 5;
/// Samples per second of all audio.
pub const KOKORO_SAMPLE_RATE: u32 = 24000;

/// A loaded artifact. Several threads may use it at once: their calls take turns.
pub struct KokoroSynthesizer(Synthesizer);

/// A whole utterance, owned by the caller until `kokoro_speech_free`.
#[repr(C)]
pub struct KokoroSpeech {
    /// Mono samples at 24 kHz, about -1 to 1.
    pub samples: *mut f32,
    /// The number of samples.
    pub sample_count: usize,
    /// Frames (600 samples) of each token, the two boundary tokens of each chunk included.
    pub durations: *mut i64,
    /// The number of durations.
    pub duration_count: usize,
    /// The number of symbols that are not in the model's vocabulary and were not spoken.
    pub unknown_count: usize,
}

/// Takes the samples of a chunk, which are valid during the call; anything but 0 stops the
/// synthesis. It is called on the thread that called `kokoro_stream` and must not throw.
pub type KokoroCallback =
    Option<unsafe extern "C" fn(user: *mut c_void, samples: *const f32, count: usize) -> i32>;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Run `action`; keep the text of its error for this thread, and return the code for it.
fn answer(action: impl FnOnce() -> Result<i32>) -> i32 {
    let (code, text) = match guarded(action) {
        Ok(code) => (code, String::new()),
        Err(error) => (error.exit_code(), error.to_string()),
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    ERROR.with(|error| *error.borrow_mut() = text);
    code
}

/// # Safety
/// `text` must be null or end in NUL, and live through the call.
unsafe fn string(text: *const c_char, name: &str) -> Result<String> {
    if text.is_null() {
        return Err(Error::input(format!("{name} is NULL")));
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(str::to_string).map_err(|_| Error::input(format!("{name} is not UTF-8")))
}

/// # Safety
/// As for `kokoro_synthesize`.
unsafe fn request(
    phonemes: *const c_char,
    voice: *const c_char,
    speed: f64,
    seed: u64,
) -> Result<Request> {
    // SAFETY: promised by the caller.
    let mut request = Request::new(unsafe { string(phonemes, "phonemes") }?);
    if !voice.is_null() {
        // SAFETY: promised by the caller.
        request.voice = unsafe { string(voice, "voice") }?;
    }
    request.speed = speed;
    request.seed = Seed::from(seed);
    Ok(request)
}

/// # Safety
/// `synthesizer` must be null or come from `kokoro_open` and not be closed.
unsafe fn opened<'a>(synthesizer: *const KokoroSynthesizer) -> Result<&'a Synthesizer> {
    // SAFETY: promised by the caller.
    let synthesizer = unsafe { synthesizer.as_ref() };
    synthesizer.map(|found| &found.0).ok_or_else(|| Error::input("synthesizer is NULL"))
}

fn give<T>(values: Vec<T>) -> (*mut T, usize) {
    let count = values.len();
    (Box::into_raw(values.into_boxed_slice()).cast(), count)
}

/// # Safety
/// `values` and `count` must come from `give`, once.
unsafe fn take_back<T>(values: *mut T, count: usize) {
    if !values.is_null() {
        // SAFETY: promised by the caller.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(values, count)) });
    }
}

/// Open an artifact folder. It contains machine code: open only what you trust.
///
/// `threads` is the number of CPU threads to compute with; 0 means `$TVM_NUM_THREADS`, else every
/// core. `device` is "auto" or "cpu"; NULL means "auto". On success `*synthesizer` is set, to be
/// closed with `kokoro_close`; otherwise it is set to NULL. The first call of a process may set the
/// environment variable TVM_BIND_THREADS, so make it before other threads read the environment.
///
/// # Safety
/// Texts end in NUL; `synthesizer` is NULL, which is refused, or writable.
#[no_mangle]
pub unsafe extern "C" fn kokoro_open(
    artifact: *const c_char,
    threads: u32,
    device: *const c_char,
    synthesizer: *mut *mut KokoroSynthesizer,
) -> i32 {
    answer(|| {
        if synthesizer.is_null() {
            return Err(Error::input("synthesizer is NULL"));
        }
        // SAFETY: promised by the caller, for these three blocks.
        unsafe { synthesizer.write(std::ptr::null_mut()) };
        let folder = unsafe { string(artifact, "artifact") }?;
        let mut options = Options::default();
        if threads > 0 {
            options.threads = Some(threads as usize);
        }
        if !device.is_null() {
            // SAFETY: as above.
            options.device = unsafe { string(device, "device") }?.parse()?;
        }
        let opened = Synthesizer::open(folder.as_ref(), &options)?;
        // SAFETY: as above.
        unsafe { synthesizer.write(Box::into_raw(Box::new(KokoroSynthesizer(opened)))) };
        Ok(KOKORO_OK)
    })
}

/// Synthesize a whole utterance.
///
/// `voice` is a name, a blend such as "af_heart:0.6,af_bella:0.4" or a file; NULL means "af_heart".
/// `speed` is from 0.1 to 10. The same seed gives the same bits. On success `*speech` is filled, to
/// be freed with `kokoro_speech_free`; otherwise it is filled with zeros.
///
/// # Safety
/// Texts end in NUL; `synthesizer` is NULL, which is refused, or open; `speech` is NULL, which is
/// refused, or writable.
#[no_mangle]
pub unsafe extern "C" fn kokoro_synthesize(
    synthesizer: *const KokoroSynthesizer,
    phonemes: *const c_char,
    voice: *const c_char,
    speed: f64,
    seed: u64,
    speech: *mut KokoroSpeech,
) -> i32 {
    answer(|| {
        if speech.is_null() {
            return Err(Error::input("speech is NULL"));
        }
        // SAFETY: promised by the caller, for these four blocks.
        unsafe { speech.write(NOTHING) };
        let synthesizer = unsafe { opened(synthesizer) }?;
        let request = unsafe { request(phonemes, voice, speed, seed) }?;
        let spoken = synthesizer.synthesize(&request)?;
        let unknown_count = spoken.unknown.len();
        let (samples, sample_count) = give(spoken.audio);
        let (durations, duration_count) = give(spoken.durations);
        let filled =
            KokoroSpeech { samples, sample_count, durations, duration_count, unknown_count };
        unsafe { speech.write(filled) };
        Ok(KOKORO_OK)
    })
}

const NOTHING: KokoroSpeech = KokoroSpeech {
    samples: std::ptr::null_mut(),
    sample_count: 0,
    durations: std::ptr::null_mut(),
    duration_count: 0,
    unknown_count: 0,
};

/// Synthesize an utterance and pass on each chunk when it is ready, in order.
///
/// Joined, the chunks are the samples of `kokoro_synthesize`. The first one does not wait for the
/// rest of a long text, so that a failure may come after chunks. Returns KOKORO_STOPPED if the
/// callback has returned anything but 0.
///
/// # Safety
/// As for `kokoro_synthesize`; `callback` may be called with `user` on this thread.
#[no_mangle]
pub unsafe extern "C" fn kokoro_stream(
    synthesizer: *const KokoroSynthesizer,
    phonemes: *const c_char,
    voice: *const c_char,
    speed: f64,
    seed: u64,
    callback: KokoroCallback,
    user: *mut c_void,
) -> i32 {
    answer(|| {
        let callback = callback.ok_or_else(|| Error::input("callback is NULL"))?;
        // SAFETY: promised by the caller, for these three blocks.
        let synthesizer = unsafe { opened(synthesizer) }?;
        let request = unsafe { request(phonemes, voice, speed, seed) }?;
        let passed_on = synthesizer.stream(&request, |samples| {
            (unsafe { callback(user, samples.as_ptr(), samples.len()) }) == 0
        })?;
        Ok(if passed_on { KOKORO_OK } else { KOKORO_STOPPED })
    })
}

/// Whether the artifact's weights are synthetic (1), so that its output is not speech, or not (0).
///
/// # Safety
/// `synthesizer` is NULL, for which the answer is 0, or open.
#[no_mangle]
pub unsafe extern "C" fn kokoro_is_synthetic(synthesizer: *const KokoroSynthesizer) -> i32 {
    // SAFETY: promised by the caller.
    answer(|| Ok(unsafe { opened(synthesizer) }.map_or(0, |found| found.synthetic().into())))
}

/// The text of the last error on this thread; empty if the last call succeeded. Never NULL; valid
/// until the next call of this library on this thread.
#[no_mangle]
pub extern "C" fn kokoro_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// The version of this library.
#[no_mangle]
pub extern "C" fn kokoro_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Free what `kokoro_synthesize` has filled, and fill it with zeros. NULL and zeros are no error.
///
/// # Safety
/// `speech` is NULL, or was filled by `kokoro_synthesize` and not changed since.
#[no_mangle]
pub unsafe extern "C" fn kokoro_speech_free(speech: *mut KokoroSpeech) {
    // SAFETY: promised by the caller.
    if let Some(speech) = unsafe { speech.as_mut() } {
        let KokoroSpeech { samples, sample_count, durations, duration_count, .. } =
            std::mem::replace(speech, NOTHING);
        // SAFETY: both come from `give`, and are zeros now.
        unsafe {
            take_back(samples, sample_count);
            take_back(durations, duration_count);
        }
    }
}

/// Close an artifact and end its threads. NULL is no error.
///
/// Close every artifact before the process ends, and when no other thread uses it any more.
///
/// # Safety
/// `synthesizer` is NULL, or comes from `kokoro_open` and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn kokoro_close(synthesizer: *mut KokoroSynthesizer) {
    if !synthesizer.is_null() {
        // SAFETY: promised by the caller.
        let owned = unsafe { Box::from_raw(synthesizer) };
        let _ = guarded(|| {
            drop(owned);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_defect_that_is_told() {
        assert_eq!(answer(|| panic!("on purpose")), KOKORO_DEFECT);
        // SAFETY: the text lives until the next call.
        let text = unsafe { CStr::from_ptr(kokoro_error()) }.to_str().unwrap();
        assert!(text.contains("a panic: on purpose"), "{text}");
        assert_eq!(answer(|| Ok(KOKORO_OK)), KOKORO_OK);
    }
}
