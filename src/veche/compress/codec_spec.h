#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace veche {

// How vectors are to be coded: what `compress.codec` and `compress.lossless` say.
struct CodecSpec {
  enum class Kind {
    none,         // floats as they are
    fp16,         // 5 bits of exponent, 10 of mantissa; finite numbers stay finite (65504 at most)
    bf16,         // the upper half of a float
    int8,         // blocks of 256 with a scale
    qsgd,         // whole parts of the norm of a block, rounded at random
    sign,         // signs, and the mean of absolute values of each tensor
    threshold,    // entries of at least this size
    topk,         // this part of the entries, the largest
    randomk,      // this part of the entries, at random, the same on all nodes
    dgc,          // deep gradient compression: top-k of gradients with momentum of its own
    powersgd,     // matrices of this rank
    powergossip,  // power iterations on the difference of two nodes
  };
  // Who can add codes up without decoding them one by one.
  enum class Sum {
    no,      // codes are gathered, and added by add_decoded
    halves,  // elements of two bytes, added part by part on their way (half.h)
    phases,  // vectors of floats: any all-reduce (summed_codec.h)
  };

  Kind kind = Kind::none;
  double amount = 0;  // what stands behind the colon: levels, size, part or rank
  bool zstd = false;  // codes are packed by zstd

  // "topk:0.01".
  std::string word() const;
  // Nothing is to be coded: strategies go on as if there were no codecs.
  bool nothing() const { return kind == Kind::none && !zstd; }
  // Leaves out what it must be made to remember: error feedback is on unless switched off.
  bool biased() const;
  Sum sum() const;
  bool needs_layout() const;    // low rank: matrices
  bool gradients_only() const;  // dgc: brings the momentum that the optimiser then does not need
  bool edges_only() const;      // powergossip: consensus and gossip, one PowerGossip an edge
  // CHOCO's step size that works with this codec (docs/compression.md).
  double gamma() const;
};

// Throws RequestError, naming `key`, what is wrong with the word and the nearest that is right.
CodecSpec parse_codec(std::string_view key, std::string_view word);
// Packing after the codec: "none" or "zstd".
void parse_lossless(std::string_view key, std::string_view word, CodecSpec& spec);

// Every codec's word as users write it ("topk:F") with a line that tells what it does.
struct CodecHelp {
  std::string word;
  std::string rule;
};
const std::vector<CodecHelp>& codec_help();

}  // namespace veche
