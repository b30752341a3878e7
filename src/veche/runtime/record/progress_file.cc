#include "veche/runtime/record/progress_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "veche/runtime/record/measures_json.h"

namespace veche {
namespace {

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null"; }

}  // namespace

ProgressFile::ProgressFile(const std::filesystem::path& file)
    : descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666)) {}

ProgressFile::~ProgressFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ProgressFile::add(const Progress& progress, Task task) {
  if (descriptor_ < 0) return;
  const std::string line =
      fmt::format("{{\"step\":{},\"loss\":{},\"cv\":{},\"{}\":{}}}\n", progress.step,
                  progress.train.count > 0 ? json_number(progress.train.loss()) : "null",
                  json_number(progress.cv), throughput_key(task), json_number(progress.targets_per_second));
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
}

}  // namespace veche
