#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace veche {

// How vectors are compressed: the values of `compress.codec` and `compress.lossless`.
struct CodecSpec {
  enum class Kind {
    none,         // plain floats
    fp16,         // 5 bits of exponent, 10 of mantissa; finite numbers stay finite (65504 at most)
    bf16,         // the upper half of a float
    int8,         // blocks of 256 floats with a scale
    qsgd,         // multiples of a fraction of the block's norm, randomly rounded
    sign,         // signs, and the mean absolute value of each tensor
    threshold,    // entries with at least this magnitude
    topk,         // this fraction of the entries, the largest
    randomk,      // this fraction of the entries, at random, the same on all nodes
    dgc,          // deep gradient compression: top-k of gradients, with its own momentum
    powersgd,     // low-rank approximation of matrices
    powergossip,  // power iterations on the difference of two nodes
  };
  // How codes can be summed without decoding each one.
  enum class Sum {
    no,      // not at all: codes are gathered and added with add_decoded
    halves,  // two-byte elements, added hop by hop (half.h)
    phases,  // vectors of floats, for any all-reduce (summed_codec.h)
  };

  Kind kind = Kind::none;
  double amount = 0;  // the number after the colon: levels, magnitude, fraction or rank
  bool zstd = false;  // codes are packed with zstd

  // "topk:0.01".
  std::string word() const;
  // No compression at all: strategies take their uncompressed path.
  bool nothing() const { return kind == Kind::none && !zstd; }
  // The codec drops part of the vector, so error feedback is on by default.
  bool biased() const;
  Sum sum() const;
  bool needs_layout() const;    // low rank: needs the shapes of the matrices
  bool gradients_only() const;  // dgc: replaces the optimiser's momentum
  bool edges_only() const;      // powergossip: consensus and gossip only, one PowerGossip per edge
  // The CHOCO step size that works with this codec (docs/compression.md).
  double gamma() const;
};

// Throws RequestError naming `key`, the problem and the nearest valid word.
CodecSpec parse_codec(std::string_view key, std::string_view word);

// Every codec as users write it ("topk:F"), with a line of help.
struct CodecHelp {
  std::string word;
  std::string rule;
};
const std::vector<CodecHelp>& codec_help();

}  // namespace veche
