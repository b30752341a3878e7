#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veche/graph/families/spec.h"

namespace veche {

// A spec FAMILY:NUMBER:NUMBER@SEED split into words, with its context. Every accessor throws
// RequestError, naming the spec, if the value is missing or wrong. Borrows its arguments.
class Words {
 public:
  Words(std::string_view spec, const SpecContext& context);

  const std::string& family() const { return words_[0]; }
  std::size_t count() const { return words_.size() - 1; }  // words after the family
  std::uint64_t seed() const { return seed_; }
  bool seeded() const { return seeded_; }
  const SpecContext& context() const { return context_; }

  int nodes() const;              // the only number of the spec, or the size of the cluster
  int nodes_before_last() const;  // for specs such as chords:N:K, where N may be omitted
  int last(const char* what) const;
  double last_fraction(const char* what) const;
  std::vector<int> last_list(const char* what) const;  // numbers separated by +
  int whole(std::size_t index, const char* what) const;
  // AxB. If omitted: the factors of the cluster's size closest to a square, each at least `least`.
  std::vector<int> sides(int least) const;
  int cluster_nodes() const;
  void at_most(std::size_t numbers) const;
  [[noreturn]] void wrong(const std::string& why) const;

 private:
  void at_least(std::size_t numbers, const char* what) const;
  template <class T>
  T number(std::string_view word, const char* what) const;

  std::string_view spec_;
  const SpecContext& context_;
  std::vector<std::string> words_;
  std::uint64_t seed_;
  bool seeded_ = false;
};

}  // namespace veche
