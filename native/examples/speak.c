// Speak phonemes into a WAV file of 32-bit floats: speak ARTIFACT PHONEMES OUTPUT
#include <stdio.h>
#include <string.h>

#include "kokoro.h"

// Writes a number of `bytes` bytes, the lowest first.
static void put(FILE *file, uint32_t number, int bytes) {
  for (; bytes > 0; --bytes, number >>= 8) fputc((int)(number & 0xff), file);
}

static int write_wav(const char *path, const float *samples, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return -1;
  uint32_t size = (uint32_t)(count * sizeof(float));
  fputs("RIFF", file), put(file, 36 + size, 4), fputs("WAVEfmt ", file), put(file, 16, 4);
  put(file, 3, 2), put(file, 1, 2);  // float, mono
  put(file, KOKORO_SAMPLE_RATE, 4), put(file, 4 * KOKORO_SAMPLE_RATE, 4);
  put(file, 4, 2), put(file, 32, 2);
  fputs("data", file), put(file, size, 4);
  fwrite(samples, sizeof(float), count, file);  // on a little-endian machine
  int failed = ferror(file);
  return fclose(file) != 0 || failed ? -1 : 0;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: speak ARTIFACT PHONEMES OUTPUT\n");
    return 2;
  }
  KokoroSynthesizer *synthesizer;
  KokoroSpeech speech;
  int code = kokoro_open(argv[1], 0, NULL, &synthesizer);
  if (code == KOKORO_OK) {
    code = kokoro_synthesize(synthesizer, argv[2], NULL, 1.0, 0, &speech);
  }
  if (code != KOKORO_OK) {
    fprintf(stderr, "error: %s\n", kokoro_error());
  } else {
    if (write_wav(argv[3], speech.samples, speech.sample_count) != 0) {
      perror(argv[3]);
      code = KOKORO_FAILED;
    } else {
      printf("wrote %s: %zu samples\n", argv[3], speech.sample_count);
    }
    kokoro_speech_free(&speech);
  }
  kokoro_close(synthesizer);  // NULL after a failed kokoro_open
  return code;
}
