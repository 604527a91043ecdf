// Write raw float samples to standard output as they come: stream ARTIFACT PHONEMES [VOICE [SPEED]]
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "kokoro.h"

namespace {

struct Close {
  void operator()(KokoroSynthesizer *synthesizer) const { kokoro_close(synthesizer); }
};

// Passes a chunk on; the synthesis stops when the reader has gone.
int32_t pass_on(void *file, const float *samples, size_t count) {
  auto *output = static_cast<std::FILE *>(file);
  bool written = std::fwrite(samples, sizeof(float), count, output) == count;
  return written && std::fflush(output) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: stream ARTIFACT PHONEMES [VOICE [SPEED]]\n");
    return 2;
  }
  KokoroSynthesizer *opened = nullptr;
  int code = kokoro_open(argv[1], 0, nullptr, &opened);
  std::unique_ptr<KokoroSynthesizer, Close> synthesizer(opened);
  if (code == KOKORO_OK) {
    const char *voice = argc > 3 ? argv[3] : nullptr;
    double speed = argc > 4 ? std::atof(argv[4]) : 1.0;
    code = kokoro_stream(synthesizer.get(), argv[2], voice, speed, 0, pass_on, stdout);
  }
  if (code != KOKORO_OK) std::fprintf(stderr, "error: %s\n", kokoro_error());
  return code;
}
