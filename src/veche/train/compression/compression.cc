#include "veche/train/compression/compression.h"

#include <cmath>

#include "veche/errors.h"
#include "veche/train/compression/pairs.h"

namespace veche {
namespace {

// "auto", or a number above 0 and at most 1.
double read_gamma(const Value& value, const CodecSpec& spec) {
  if (const auto* word = std::get_if<std::string>(&value.data); word != nullptr && *word == "auto")
    return spec.gamma();
  const auto* whole = std::get_if<std::int64_t>(&value.data);
  const auto* real = std::get_if<double>(&value.data);
  const double number = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0;
  if (!(number > 0 && number <= 1))
    throw RequestError("compress.gamma must be \"auto\", or a number above 0 and at most 1");
  return number;
}

}  // namespace

std::optional<Compression> read_compression(const CompressSettings& compress, const CompressedRun& run) {
  Compression result;
  result.spec = parse_codec("compress.codec", compress.codec);
  result.spec.zstd = compress.lossless == Lossless::zstd;
  result.gamma = read_gamma(compress.gamma, result.spec);
  if (result.spec.nothing()) return {};
  result.feedback = compress.error_feedback.value_or(result.spec.biased());
  result.small = static_cast<std::size_t>(compress.small);
  result.vote = compress.vote;
  result.first_step =
      static_cast<std::uint64_t>(std::llround(compress.start * std::max(run.steps_per_epoch, 1.0)));
  result.momentum = static_cast<float>(run.optimizer.momentum);
  result.clip = static_cast<float>(run.optimizer.clip);
  result.steps_per_epoch = run.steps_per_epoch;
  check_pair(result, compress, run);
  return result;
}

}  // namespace veche
