// Speech from a tvm-kokoro artifact, without Python.
//
// Made from libkokoro/src/lib.rs by cbindgen; do not edit.
//
// Functions return KOKORO_OK or the kind of a failure, of which kokoro_error() has the text. Texts
// are UTF-8 and end in NUL. Link with -lkokoro; TVM's two libraries are found as docs/native.md says.

#ifndef KOKORO_H
#define KOKORO_H

#include <stddef.h>
#include <stdint.h>

// Done.
#define KOKORO_OK 0

// Bad input, a bad artifact, or something that the machine lacks; `kokoro_error` says what.
#define KOKORO_FAILED 3

// A defect of this library; `kokoro_error` says what.
#define KOKORO_DEFECT 4

// The callback has stopped the synthesis.
#define KOKORO_STOPPED 5

// Samples per second of all audio.
#define KOKORO_SAMPLE_RATE 24000

// A loaded artifact. Several threads may use it at once: their calls take turns.
typedef struct KokoroSynthesizer KokoroSynthesizer;

// A whole utterance, owned by the caller until `kokoro_speech_free`.
typedef struct {
  // Mono samples at 24 kHz, about -1 to 1.
  float *samples;
  // The number of samples.
  size_t sample_count;
  // Frames (600 samples) of each token, the two boundary tokens of each chunk included.
  int64_t *durations;
  // The number of durations.
  size_t duration_count;
  // The number of symbols that are not in the model's vocabulary and were not spoken.
  size_t unknown_count;
} KokoroSpeech;

// Takes the samples of a chunk, which are valid during the call; anything but 0 stops the
// synthesis. It is called on the thread that called `kokoro_stream` and must not throw.
typedef int32_t (*KokoroCallback)(void *user, const float *samples, size_t count);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Open an artifact folder. It contains machine code: open only what you trust.
//
// `threads` is the number of CPU threads to compute with; 0 means `$TVM_NUM_THREADS`, else every
// core. `device` is "auto" or "cpu"; NULL means "auto". On success `*synthesizer` is set, to be
// closed with `kokoro_close`; otherwise it is set to NULL. The first call of a process may set the
// environment variable TVM_BIND_THREADS, so make it before other threads read the environment.
//
// # Safety
// Texts end in NUL; `synthesizer` is NULL, which is refused, or writable.
int32_t kokoro_open(const char *artifact,
                    uint32_t threads,
                    const char *device,
                    KokoroSynthesizer **synthesizer);

// Synthesize a whole utterance.
//
// `voice` is a name, a blend such as "af_heart:0.6,af_bella:0.4" or a file; NULL means "af_heart".
// `speed` is from 0.1 to 10. The same seed gives the same bits. On success `*speech` is filled, to
// be freed with `kokoro_speech_free`; otherwise it is filled with zeros.
//
// # Safety
// Texts end in NUL; `synthesizer` is NULL, which is refused, or open; `speech` is NULL, which is
// refused, or writable.
int32_t kokoro_synthesize(const KokoroSynthesizer *synthesizer,
                          const char *phonemes,
                          const char *voice,
                          double speed,
                          uint64_t seed,
                          KokoroSpeech *speech);

// Synthesize an utterance and pass on each chunk when it is ready, in order.
//
// Joined, the chunks are the samples of `kokoro_synthesize`. The first one does not wait for the
// rest of a long text, so that a failure may come after chunks. Returns KOKORO_STOPPED if the
// callback has returned anything but 0.
//
// # Safety
// As for `kokoro_synthesize`; `callback` may be called with `user` on this thread.
int32_t kokoro_stream(const KokoroSynthesizer *synthesizer,
                      const char *phonemes,
                      const char *voice,
                      double speed,
                      uint64_t seed,
                      KokoroCallback callback,
                      void *user);

// Whether the artifact's weights are synthetic (1), so that its output is not speech, or not (0).
//
// # Safety
// `synthesizer` is NULL, for which the answer is 0, or open.
int32_t kokoro_is_synthetic(const KokoroSynthesizer *synthesizer);

// The text of the last error on this thread; empty if the last call succeeded. Never NULL; valid
// until the next call of this library on this thread.
const char *kokoro_error(void);

// The version of this library.
const char *kokoro_version(void);

// Free what `kokoro_synthesize` has filled, and fill it with zeros. NULL and zeros are no error.
//
// # Safety
// `speech` is NULL, or was filled by `kokoro_synthesize` and not changed since.
void kokoro_speech_free(KokoroSpeech *speech);

// Close an artifact and end its threads. NULL is no error.
//
// Close every artifact before the process ends, and when no other thread uses it any more.
//
// # Safety
// `synthesizer` is NULL, or comes from `kokoro_open` and is not used afterwards.
void kokoro_close(KokoroSynthesizer *synthesizer);

#ifdef __cplusplus
} // extern "C"
#endif // __cplusplus

#endif /* KOKORO_H */
