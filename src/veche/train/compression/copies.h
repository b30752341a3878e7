#pragma once

#include <optional>
#include <span>
#include <vector>

#include "veche/train/compression/coder.h"

namespace veche {

// CHOCO (Koloskova, Stich and Jaggi 2019): nodes know each other's vectors x only by copies x^, and
// all holders of a copy change it alike. A node sends q = C(x - x^), and x^ += q. The copies are
// mixed,
//   x_i += gamma sum_j w_ij (x^_j - x^_i),
// so what one node gains another loses, and their mean never changes, whatever a codec leaves out;
// that is still in x - x^ at the next send.
class Copies {
 public:
  // Readers get this node's vector; sources send theirs. to_all: one copy of this node's vector for
  // all readers, which must then all get every code. to_each: one copy per reader.
  enum class Told { to_all, to_each };
  Copies(Coder& coder, Channel& channel, StreamShape shape, std::vector<NodeId> sources,
         std::vector<NodeId> readers, Told told);

  // All nodes of the channel call it together before the first round. If all vectors are equal, the
  // copies start as them, otherwise as zero. All vectors have the length of the shape. Does nothing
  // in a run that goes on from a checkpoint.
  void start(std::span<const float> x);
  // The same for asynchronous nodes. No checkpoint can keep their copies, since messages under way
  // are lost: where vectors differ, neighbours send each other the full vectors.
  void start_with_all(std::span<const float> x);
  // Each node for itself: the first message to each reader is the full vector.
  void start_apart();

  // A code of how x differs from its copy, for one reader, or for all.
  Message encode(std::span<const float> x, std::optional<NodeId> reader = {});
  void apply(NodeId source, const Message& code);
  // The same before compress.start: the full vector, as floats.
  Message encode_full(std::span<const float> x, std::optional<NodeId> reader = {});
  void apply_full(NodeId source, const Message& floats);
  // Sets both copies: the floats exchanged with a node that is reader and source.
  void set_both(NodeId other, const Message& mine, const Message& theirs);
  // Sends a message, and counts what the codec saves.
  void send(NodeId to, Message message);

  // The copy of this node's vector that the reader has, and the copy of the source's vector here.
  std::span<const float> own(std::optional<NodeId> reader = {}) const;
  std::span<const float> of(NodeId source) const;
  std::span<const NodeId> sources() const { return sources_; }
  std::span<const NodeId> readers() const { return readers_; }

  // Adds everything that a checkpoint must keep.
  void add_state(SavedState& state);
  // Squared distance of the copies of this node's vector from x.
  double remembered_squared(std::span<const float> x) const;
  double remembered_squared(NodeId reader, std::span<const float> x) const;

 private:
  struct Out {
    CodedStream stream;
    std::vector<float> copy;
    bool first = false;  // the full vector is due
  };
  void become(std::span<const float> x);  // all of them
  Out& out(std::optional<NodeId> reader);
  std::vector<float>& copy_of(NodeId source);

  Coder& coder_;
  Channel& channel_;
  const std::vector<NodeId> sources_, readers_;
  const std::size_t length_;
  std::vector<Out> outs_;                // one, or one per reader
  std::vector<std::vector<float>> ins_;  // by source
  std::vector<NodeId> unheard_;          // sources whose full vector is due
  std::vector<float> change_;            // scratch
  std::uint64_t started_ = 0;
};

// x += gamma sum_k weight (towards - from), an empty span being zero.
struct Pull {
  std::span<const float> towards, from;
  double weight = 0;
};
void move(std::span<float> x, double gamma, std::span<const Pull> pulls);

}  // namespace veche
