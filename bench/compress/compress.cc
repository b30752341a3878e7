#include "bench/compress/compress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/peer.h"
#include "bench/rounds.h"
#include "veche/compress/kernels/kernels.h"
#include "veche/compress/matrices.h"
#include "veche/compress/summed_codec.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {

extern const char kCompressPeer[];  // the text of peer.py

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFloats = 1'500'000;
constexpr double kTopPart = 0.01;
constexpr int kLevels = 4;
constexpr int kRank = 2;

void require_that(bool right, const std::string& what) {
  if (!right) throw RunError("bench compress: " + what);
}

bool about(double ours, double theirs, double part) {
  return std::abs(ours - theirs) <= part * std::abs(theirs);
}

// Distributed like a gradient: many small values, few large ones.
std::vector<float> like_a_gradient(std::size_t floats) {
  RandomStream random(1, "bench compress");
  std::vector<float> x(floats);
  for (float& value : x) {
    const double normal = random.normal();
    value = static_cast<float>(0.01 * normal * normal * normal);
  }
  return x;
}

// Vectors for the peer in temporary files, deleted by the destructor.
class PeerFiles {
 public:
  PeerFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "veche-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw RunError("cannot make a folder for temporary files: " + name);
    folder_ = name;
  }
  PeerFiles(const PeerFiles&) = delete;
  PeerFiles& operator=(const PeerFiles&) = delete;
  ~PeerFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, std::span<const float> x) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size_bytes()));
    if (!file.flush()) throw RunError("cannot write " + path(name));
    return path(name);
  }
  std::vector<float> read(const std::string& name, std::size_t floats) const {
    std::vector<float> x(floats);
    std::ifstream file(path(name), std::ios::binary);
    file.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(floats * sizeof(float)));
    require_that(file.good(), "the peer's vector is too short");
    return x;
  }

 private:
  std::filesystem::path folder_;
};

// Floats per second.
template <class Pass>
double rate_of(std::size_t floats, int times, Pass pass) {
  pass();
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) pass();
  const std::chrono::duration<double> seconds = Clock::now() - start;
  return static_cast<double>(floats) * times / seconds.count() / 1e9;
}

struct BesideCopying {
  const char* word;
  double most_error;  // relative to the squared norm
};
constexpr BesideCopying kBesideCopying[] = {{"fp16", 1e-6}, {"bf16", 1e-5}, {"int8", 1e-2}, {"sign", 0.9}};

void measure_copying(const BenchOptions& options, std::vector<BenchCase>& cases) {
  const int times = options.quick ? 2 : 40;
  const std::vector<float> x = like_a_gradient(kFloats);
  std::vector<float> out(kFloats), copy(kFloats);
  MessagePool pool;
  for (const BesideCopying& c : kBesideCopying) {
    if (!options.wants(c.word)) continue;
    const auto codec = make_codec(parse_codec("codec", c.word), {.length = kFloats});
    Message code = codec->encode(x, 0, pool);
    std::ranges::fill(out, 0.0F);
    codec->add_decoded(code.bytes(), 1, out);
    double error = 0, all = 0;
    for (std::size_t i = 0; i < kFloats; ++i) {
      error += std::pow(static_cast<double>(x[i]) - static_cast<double>(out[i]), 2);
      all += std::pow(static_cast<double>(x[i]), 2);
    }
    require_that(error <= c.most_error * all, std::string("a code of ") + c.word + " is wrong");
    Rounds encoding(1), decoding(1);
    for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
      const double copying = rate_of(kFloats, times, [&] {
        std::memcpy(copy.data(), x.data(), kFloats * sizeof(float));
        __asm__ volatile("" : : "r"(copy.data()) : "memory");  // prevents the compiler from removing the copy
      });
      encoding.ours(rate_of(kFloats, times, [&] { code = codec->encode(x, 0, pool); }));
      encoding.theirs(0, copying);
      decoding.ours(rate_of(kFloats, times, [&] { codec->add_decoded(code.bytes(), 0.001F, out); }));
      decoding.theirs(0, copying);
    }
    cases.push_back(encoding.result(0, std::string(c.word) + " encode", "Gfloat/s", "copying", 0.5));
    cases.push_back(decoding.result(0, std::string(c.word) + " decode", "Gfloat/s", "copying", 0.5));
  }
}

void measure_topk(Peer& peer, const BenchOptions& options, std::vector<BenchCase>& cases) {
  const int times = options.quick ? 1 : 20;
  const std::vector<float> x = like_a_gradient(kFloats);
  MessagePool pool;
  const auto codec = make_codec({.kind = CodecSpec::Kind::topk, .amount = kTopPart}, {.length = kFloats});
  std::vector<float> sent(kFloats);
  codec->add_decoded(codec->encode(x, 0, pool).bytes(), 1, sent);
  double sum = 0;
  std::size_t entries = 0;
  for (const float value : sent) {
    sum += std::abs(static_cast<double>(value));
    entries += value != 0;
  }
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    rounds.ours(rate_of(kFloats, times, [&] { codec->encode(x, 0, pool); }));
    const auto answer = peer.ask({{"do", "topk"}, {"part", kTopPart}, {"times", times}});
    require_that(answer["entries"] == entries && about(sum, answer["sum"], 1e-6), "topk chose other entries");
    rounds.theirs(0, static_cast<double>(kFloats) * times / answer["seconds"].get<double>() / 1e9);
  }
  cases.push_back(rounds.result(0, "topk:0.01 encode", "Gfloat/s", "torch.topk", 4));
}

void measure_qsgd(Peer& peer, const BenchOptions& options, std::vector<BenchCase>& cases) {
  const int times = options.quick ? 1 : 10;
  const std::vector<float> x = like_a_gradient(kFloats);
  MessagePool pool;
  const auto codec = make_codec({.kind = CodecSpec::Kind::qsgd, .amount = kLevels}, {.length = kFloats});
  // The peer ignores the incomplete last block.
  const std::size_t blocks = kFloats / kernels::kBlock;
  std::vector<float> sent(kFloats);
  const Message code = codec->encode(x, 0, pool);
  codec->add_decoded(code.bytes(), 1, sent);
  const float* const norms = reinterpret_cast<const float*>(code.bytes().data());
  double sum_of_norms = 0, levels = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    sum_of_norms += static_cast<double>(norms[block]);
    for (std::size_t i = block * kernels::kBlock; i < (block + 1) * kernels::kBlock; ++i)
      levels +=
          std::round(kLevels * std::abs(static_cast<double>(sent[i])) / static_cast<double>(norms[block]));
  }
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    rounds.ours(rate_of(kFloats, times, [&] { codec->encode(x, 0, pool); }));
    const auto answer =
        peer.ask({{"do", "qsgd"}, {"levels", kLevels}, {"block", kernels::kBlock}, {"times", times}});
    require_that(about(sum_of_norms, answer["norms"], 1e-4) && about(levels, answer["levels"], 1e-2),
                 "qsgd has other norms or levels");
    rounds.theirs(0, static_cast<double>(kFloats) * times / answer["seconds"].get<double>() / 1e9);
  }
  cases.push_back(rounds.result(0, "qsgd:4 encode", "Gfloat/s", "QSGD of PyTorch operators", 4));
}

const std::vector<std::vector<std::int64_t>> kCnnShapes{
    {32, 1, 3, 3}, {32},        {32},  {32},       {64, 32, 3, 3}, {64},      {64},
    {64},          {600, 2304}, {600}, {120, 600}, {120},          {10, 120}, {10}};

StreamShape cnn_stream() {
  StreamShape shape;
  for (const auto& extents : kCnnShapes) {
    shape.tensors.push_back({.name = "", .shape = extents, .strides = {}, .offset = shape.length});
    shape.length += floats_of(shape.tensors.back());
  }
  shape.feedback = true;
  return shape;
}

// Both start with the same Q, ours column-major, theirs row-major.
std::vector<float> start_both(const StreamShape& shape, std::span<float> ours) {
  RandomStream random(2, "bench compress");
  for (float& value : ours) value = static_cast<float>(random.normal());
  std::vector<float> theirs(ours.size());
  for (const Matrix& m : Matrices(shape, kRank).matrices)
    for (std::size_t i = 0; i < m.columns; ++i)
      for (std::size_t k = 0; k < m.rank; ++k) theirs[m.q + i * m.rank + k] = ours[m.q + k * m.columns + i];
  return theirs;
}

void measure_powersgd(Peer& peer, const PeerFiles& files, const BenchOptions& options,
                      std::vector<BenchCase>& cases) {
  const int times = options.quick ? 1 : 20;
  const StreamShape shape = cnn_stream();
  const std::vector<float> x = like_a_gradient(shape.length);
  const auto codec = make_summed_codec({.kind = CodecSpec::Kind::powersgd, .amount = kRank}, shape);
  const std::string start = files.write("start", start_both(shape, codec->state().vectors.at(0)));
  std::vector<float> out(shape.length);
  std::uint64_t step = 0;
  const auto pass = [&] {
    for (std::size_t k = 0; k < codec->phases(); ++k) codec->phase(k, x, step);
    codec->finish(1, out);
    ++step;
  };
  pass();
  peer.ask({{"do", "make"}, {"file", files.write("gradient", x)}});
  peer.ask({{"do", "hook"},
            {"shapes", kCnnShapes},
            {"rank", kRank},
            {"start", start},
            {"out", files.path("out")}});
  const std::vector<float> theirs = files.read("out", shape.length);
  double error = 0, all = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    error += std::pow(static_cast<double>(out[i]) - static_cast<double>(theirs[i]), 2);
    all += std::pow(static_cast<double>(theirs[i]), 2);
  }
  require_that(error <= 1e-8 * all, "powersgd tells something else than PyTorch's hook");
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    rounds.ours(rate_of(shape.length, times, pass));
    const auto answer = peer.ask({{"do", "powersgd"}, {"times", times}});
    rounds.theirs(0, static_cast<double>(shape.length) * times / answer["seconds"].get<double>() / 1e9);
  }
  cases.push_back(rounds.result(0, "powersgd:2 of cnn", "Gfloat/s", "PyTorch's powerSGD_hook", 1.5));
}

}  // namespace

std::vector<BenchCase> bench_compress(const BenchOptions& options) {
  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python, kCompressPeer, "python3-torch");
  const PeerFiles files;
  const std::string vector = files.write("vector", like_a_gradient(kFloats));
  std::vector<BenchCase> cases;
  measure_copying(options, cases);
  peer.ask({{"do", "make"}, {"file", vector}});
  if (options.wants("topk")) measure_topk(peer, options, cases);
  if (options.wants("qsgd")) measure_qsgd(peer, options, cases);
  if (options.wants("powersgd")) measure_powersgd(peer, files, options, cases);
  return cases;
}

}  // namespace veche
