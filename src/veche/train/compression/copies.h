#pragma once

#include <optional>
#include <span>
#include <vector>

#include "veche/train/compression/coder.h"

namespace veche {

// CHOCO (Koloskova, Stich and Jaggi 2019): nodes know each other's vectors x only by copies x^, which all who
// hold one change alike. Who tells sends q = C(x - x^), and x^ += q. What is mixed are the copies,
//   x_i += gamma sum_j w_ij (x^_j - x^_i),
// so that what one node gains another loses and their mean never moves, whatever a codec leaves out; what it
// left out is still in x - x^ when the node next tells.
class Copies {
 public:
  // This node's vector is told to readers, those of the sources are heard. One copy of it for all readers,
  // who then must hear all that is told; or one for each.
  enum class Told { to_all, to_each };
  Copies(Coder& coder, Channel& channel, StreamShape shape, std::vector<NodeId> sources,
         std::vector<NodeId> readers, Told told);

  // Before the first round, by all nodes of the channel together: where all vectors are equal, so are the
  // copies from the beginning; else they are zero. `x` and all that is told later have the length of the
  // shape. Nothing in a run that goes on from a checkpoint.
  void start(std::span<const float> x);
  // The same for nodes that wait for nobody, whose copies no checkpoint can keep, for what was under way is
  // lost: unequal neighbours tell each other everything.
  void start_with_all(std::span<const float> x);
  // The same by each node for itself: the first that a reader is told is everything.
  void start_apart();

  // The code of what has changed, for one reader, or for all.
  Message tell(std::span<const float> x, std::optional<NodeId> reader = {});
  void hear(NodeId source, const Message& code);
  // The same before compress.start: all of it, as floats.
  Message tell_all(std::span<const float> x, std::optional<NodeId> reader = {});
  void hear_all(NodeId source, const Message& floats);
  // Both in one: floats that were exchanged with a reader who is a source.
  void know_all(NodeId other, const Message& mine, const Message& theirs);
  // Sends it, and counts what it saves.
  void send(NodeId to, Message message);

  // What the others think this node has, and what it thinks the source has.
  std::span<const float> own(std::optional<NodeId> reader = {}) const;
  std::span<const float> of(NodeId source) const;
  std::span<const NodeId> sources() const { return sources_; }
  std::span<const NodeId> readers() const { return readers_; }

  // With everything that a checkpoint must keep.
  void add_state(SavedState& state);
  // How far the copies of this node's vector are behind it.
  double remembered_squared(std::span<const float> x) const;
  double remembered_squared(NodeId reader, std::span<const float> x) const;

 private:
  struct Out {
    CodedStream stream;
    std::vector<float> copy;
    bool first = false;  // all of it is due
  };
  void become(std::span<const float> x);  // all of them
  Out& out(std::optional<NodeId> reader);
  std::vector<float>& copy_of(NodeId source);

  Coder& coder_;
  Channel& channel_;
  const std::vector<NodeId> sources_, readers_;
  const std::size_t length_;
  std::vector<Out> outs_;                // one, or one a reader
  std::vector<std::vector<float>> ins_;  // by source
  std::vector<NodeId> unheard_;          // sources whose first is due
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
