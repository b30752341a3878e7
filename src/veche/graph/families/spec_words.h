#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veche/graph/families/spec.h"

namespace veche {

// The words of a spec, FAMILY:NUMBER:NUMBER@SEED, with what it is read with. Each question throws
// RequestError, naming the spec, when the answer is missing or wrong. Refers to what it was made from.
class Words {
 public:
  Words(std::string_view spec, const SpecContext& context);

  const std::string& family() const { return words_[0]; }
  std::size_t count() const { return words_.size() - 1; }  // of what follows the family
  std::uint64_t seed() const { return seed_; }
  bool seeded() const { return seeded_; }
  const SpecContext& context() const { return context_; }

  int nodes() const;              // the only number of the spec, or the cluster's
  int nodes_before_last() const;  // in specs like chords:N:K, where N may be left out
  int last(const char* what) const;
  double last_fraction(const char* what) const;
  std::vector<int> last_list(const char* what) const;  // numbers with + between them
  int whole(std::size_t index, const char* what) const;
  // AxB; when left out, the factors of the cluster's size that lie nearest to a square, none below `least`.
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
