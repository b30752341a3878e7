#include "veche/compress/majority.h"

#include <algorithm>

#include "veche/compress/code_bytes.h"
#include "veche/compress/packing.h"
#include "veche/compress/sign_code.h"

namespace veche {

struct MajorityVote::Parts {
  explicit Parts(const StreamShape& shape)
      : small(small_runs(shape)),
        code(shape),
        length(shape.length),
        small_sums(total_length(small)),
        scales(code.runs().size()),
        ones(code.runs().size(), 1.0F),
        votes(shape.length) {}

  const std::vector<TensorRun> small;
  const SignCode code;
  const std::size_t length;
  Packing packing;
  std::vector<float> small_sums, scales, ones, votes;
  int voters = 0;
};

MajorityVote::MajorityVote(const CodecSpec& spec, const StreamShape& shape)
    : zstd_(spec.zstd), parts_(std::make_unique<Parts>(shape)) {
  if (spec.kind != CodecSpec::Kind::sign) throw std::logic_error("only codes of `sign` are votes");
}
MajorityVote::~MajorityVote() = default;

void MajorityVote::add(std::span<const std::byte> code) {
  Parts& own = *parts_;
  const std::size_t small_bytes = own.small_sums.size() * sizeof(float);
  if (zstd_) code = own.packing.unpack(code, small_bytes + own.code.most_bytes());
  CodeReader reader(code);
  const float* const floats = reader.items<float>(own.small_sums.size());
  const bool raw = own.small_sums.size() == own.length;  // all tensors are small
  const SignCode::Parts vote = raw ? SignCode::Parts{} : own.code.read(reader.rest());
  if (raw) reader.end();
  for (std::size_t i = 0; i < own.small_sums.size(); ++i) own.small_sums[i] += floats[i];
  if (!raw) {
    for (std::size_t t = 0; t < own.scales.size(); ++t) own.scales[t] += vote.scales[t];
    own.code.add(vote, own.ones, own.votes);
  }
  ++own.voters;
}

void MajorityVote::finish(std::span<float> out) {
  Parts& own = *parts_;
  const float part = 1.0F / static_cast<float>(own.voters);
  for (std::size_t t = 0; t < own.scales.size(); ++t) {
    const TensorRun& run = own.code.runs()[t];
    const float size = part * own.scales[t];
    for (std::size_t i = run.from; i < run.from + run.length; ++i)
      out[i] = own.votes[i] > 0 ? size : own.votes[i] < 0 ? -size : 0.0F;
  }
  fill(own.small, 0, out);
  add_gathered(own.small, own.small_sums.data(), part, out);
  for (auto* sums : {&own.small_sums, &own.scales, &own.votes}) std::ranges::fill(*sums, 0.0F);
  own.voters = 0;
}

}  // namespace veche
