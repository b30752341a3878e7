#include "veche/train/compression/pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/errors.h"

namespace veche {
namespace {

using Kind = CodecSpec::Kind;

class Pair {
 public:
  Pair(const Compression& compression, const CompressedRun& run)
      : spec_(compression.spec), run_(run), ability_(run.strategy.coded) {}

  [[noreturn]] void refuse(const std::string& why, const std::string& nearest) const {
    throw RequestError(fmt::format("compress.codec = \"{}\" with strategy \"{}\": {}; {}", spec_.word(),
                                   run_.strategy.name, why, nearest));
  }

  void check_exchange() const {
    if (ability_.exchange == CodedExchange::nothing)
      refuse("it sends nothing to compress", "leave out [compress], or " + choose(CodedExchange::gradients));
    if (ability_.exchange == CodedExchange::undeclared)
      refuse("this strategy does not declare what a codec would compress",
             "leave out [compress], or " + choose(CodedExchange::copies));
  }

  void check_codec() const {
    const bool gradients = ability_.exchange == CodedExchange::gradients;
    if (spec_.gradients_only() && !gradients)
      refuse("dgc corrects the momentum of gradients, and this strategy sends models",
             fmt::format("choose compress.codec = \"topk:{:g}\", or {}", spec_.amount,
                         named(CodedExchange::gradients)));
    if (spec_.gradients_only() && !run_.plain_sgd)
      refuse("dgc takes the place of the momentum of plain SGD",
             fmt::format("choose optimizer.name = \"sgd\" with optimizer.momentum, or compress.codec = "
                         "\"topk:{:g}\"",
                         spec_.amount));
    if (!spec_.edges_only()) return;
    const std::string nearest = fmt::format("choose compress.codec = \"powersgd:{:g}\"", spec_.amount);
    if (!ability_.edges)
      refuse("powergossip works on the difference of two neighbours",
             nearest + ", or " +
                 named([](const CodedAbility& other) { return static_cast<bool>(other.edges); }));
    if (run_.async || !run_.equal_nodes || !run_.symmetric_graph || !ability_.edges(run_.strategy_options))
      refuse(
          fmt::format(
              "both ends of an edge take part in every power iteration, and go the same way: it needs nodes "
              "in step{}",
              ability_.edges_need.empty() ? " and edges both ways"
                                          : fmt::format(", edges both ways and {}", ability_.edges_need)),
          nearest);
    if (spec_.zstd) refuse("its floats are random and do not pack", "leave out compress.lossless");
  }

  void check_options() const {
    if (!ability_.refuses) return;
    const auto refused = ability_.refuses({.options = run_.strategy_options,
                                           .lossy = is_lossy(),
                                           .async = run_.async,
                                           .fixed_graph = run_.fixed_graph,
                                           .equal_nodes = run_.equal_nodes,
                                           .equal_start = run_.equal_start});
    if (refused) refuse(refused->reason, refused->instead);
  }

  void check_keys(const Compression& compression, const CompressSettings& compress) const {
    const bool copies = ability_.exchange == CodedExchange::copies;
    if (copies && compress.error_feedback)
      refuse("copies of models remember what codes leave out", "leave out compress.error_feedback");
    if (!copies && ability_.exchange != CodedExchange::both && compress.gamma != Value{std::string("auto")})
      refuse("there are no copies to go towards by compress.gamma",
             "leave it out, or " + choose(CodedExchange::copies));
    if (compression.first_step > 0 && run_.async)
      refuse("asynchronous nodes do not come to compress.start together", "leave out compress.start");
    if (!compression.vote) return;
    if (spec_.kind != Kind::sign || spec_.zstd)
      refuse("only signs are voted on", "choose compress.codec = \"sign\", or leave out compress.vote");
    if (!ability_.votes)
      refuse("a vote needs all nodes' signs of one gradient",
             "choose " + named([](const CodedAbility& other) { return other.votes; }) +
                 ", or leave out compress.vote");
  }

 private:
  // `strategy.name = "X"`, with the first known strategy that fits.
  template <class Fits>
  std::string named(Fits fits) const {
    const auto found = std::ranges::find_if(run_.known, fits, &StrategyInfo::coded);
    return fmt::format("strategy.name = \"{}\"", found == run_.known.end() ? "none" : found->name);
  }
  std::string named(CodedExchange exchange) const {
    return named([&](const CodedAbility& other) { return other.exchange == exchange; });
  }
  std::string choose(CodedExchange exchange) const { return "choose " + named(exchange); }

  // Whether codes drop values; otherwise they only round them.
  bool is_lossy() const {
    return spec_.kind != Kind::none && spec_.kind != Kind::fp16 && spec_.kind != Kind::bf16 &&
           spec_.kind != Kind::int8;
  }

  const CodecSpec& spec_;
  const CompressedRun& run_;
  const CodedAbility& ability_;
};

}  // namespace

void check_pair(const Compression& compression, const CompressSettings& compress, const CompressedRun& run) {
  const Pair pair(compression, run);
  pair.check_exchange();
  pair.check_codec();
  pair.check_options();
  pair.check_keys(compression, compress);
}

}  // namespace veche
