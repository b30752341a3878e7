#include "veche/train/compression/pairs.h"

#include <fmt/format.h>

#include <map>

#include "veche/errors.h"

namespace veche {
namespace {

using Kind = CodecSpec::Kind;

class Pair {
 public:
  Pair(const Compression& compression, const CompressedRun& run)
      : spec_(compression.spec), run_(run), exchange_(coded_exchange(run.strategy)) {}

  [[noreturn]] void refuse(const std::string& why, const std::string& nearest) const {
    throw RequestError(fmt::format("compress.codec = \"{}\" with strategy \"{}\": {}; {}", spec_.word(),
                                   run_.strategy, why, nearest));
  }

  void check_exchange() const {
    if (exchange_ == CodedExchange::nothing)
      refuse("nothing is sent that could be compressed",
             "leave out [compress], or choose strategy.name = \"allreduce\"");
    if (exchange_ == CodedExchange::unknown)
      refuse("a strategy of a program's own codes its messages itself",
             "leave out [compress], or choose strategy.name = \"consensus\"");
  }

  void check_codec() const {
    const bool gradients = exchange_ == CodedExchange::gradients;
    if (spec_.gradients_only() && !gradients)
      refuse("dgc corrects the momentum of gradients, and this strategy sends models",
             fmt::format("choose compress.codec = \"topk:{:g}\", or strategy.name = \"allreduce\"",
                         spec_.amount));
    if (spec_.gradients_only() &&
        (run_.optimizer.get<std::string>("name") != "sgd" || run_.optimizer.get<bool>("nesterov", false)))
      refuse("dgc takes the place of the momentum of plain SGD",
             fmt::format("choose optimizer.name = \"sgd\" with optimizer.momentum, or compress.codec = "
                         "\"topk:{:g}\"",
                         spec_.amount));
    if (!spec_.edges_only()) return;
    const std::string nearest = fmt::format("choose compress.codec = \"powersgd:{:g}\"", spec_.amount);
    if (run_.strategy != "consensus" && run_.strategy != "gossip")
      refuse("powergossip works on the difference of two neighbours",
             nearest + ", or strategy.name = \"consensus\"");
    if (run_.async || !run_.equal_nodes || !run_.symmetric_graph || correction() != "none")
      refuse(
          "both ends of an edge take part in every power iteration, and go the same way: it needs nodes in "
          "step, edges both ways and no strategy.correction",
          nearest);
    if (spec_.zstd) refuse("its floats are random and do not pack", "leave out compress.lossless");
  }

  void check_options() const {
    if (correction() == "d2")
      refuse("d2 subtracts what the last mixing made, and copies that lag behind make it diverge",
             "choose strategy.correction = \"gradient-tracking\"");
    if (text("momentum") == "tracked")
      refuse("second moments that are mixed by copies may become negative",
             "choose strategy.momentum = \"local\"");
    if (run_.strategy == "consensus" && !run_.async && !run_.equal_nodes && !run_.fixed_graph)
      refuse("nodes that mix at different steps need neighbours that stay, to keep copies of",
             "choose a fixed topology.graph, or leave out cluster.mix_every");
    if (!run_.equal_start && (number("elastic") > 0 || (!text("outer").empty() && text("outer") != "none")))
      refuse("ways are measured from what all models have in common, and these begin apart",
             "choose model.start = \"equal\"");
    if (run_.strategy == "local-sgd" && ends_with_one_average() && leaves_out())
      refuse("there is but one average, and no later one in which to tell what a code leaves out",
             "choose compress.codec = \"fp16\", or a number for strategy.period");
    if (run_.async && number("fanout") > 0)
      refuse(
          "what is added up on the way would have to be coded anew there, of pushes that come when they like",
          "choose strategy.fanout = 0, or strategy.update = \"sync\"");
    if (run_.async && number("elastic") > 0)
      refuse("an elastic worker sends its whole model, from which no copy is near",
             "choose strategy.update = \"sync\", or leave out strategy.elastic");
  }

  void check_keys(const Compression& compression, const Options& compress) const {
    const bool copies = exchange_ == CodedExchange::copies;
    if (copies && compress.has("error_feedback"))
      refuse("copies of models remember what codes leave out", "leave out compress.error_feedback");
    if (!copies && exchange_ != CodedExchange::both && compress.at("gamma") != Value{std::string("auto")})
      refuse("there are no copies to go towards by compress.gamma",
             "leave it out, or choose strategy.name = \"consensus\"");
    if (compression.first_step > 0 && run_.async)
      refuse("asynchronous nodes do not come to compress.start together", "leave out compress.start");
    if (!compression.vote) return;
    if (spec_.kind != Kind::sign || spec_.zstd)
      refuse("only signs are voted on", "choose compress.codec = \"sign\", or leave out compress.vote");
    if (run_.strategy != "allreduce")
      refuse("a vote needs all nodes' signs of one gradient",
             "choose strategy.name = \"allreduce\", or leave out compress.vote");
  }

 private:
  bool ends_with_one_average() const {
    const auto* word = std::get_if<std::string>(&run_.strategy_options.at("period").data);
    return word != nullptr && *word == "end";
  }
  bool leaves_out() const {
    return spec_.kind != Kind::none && spec_.kind != Kind::fp16 && spec_.kind != Kind::bf16 &&
           spec_.kind != Kind::int8;
  }
  std::string text(const char* key) const { return run_.strategy_options.get<std::string>(key, ""); }
  std::string correction() const { return run_.strategy_options.get<std::string>("correction", "none"); }
  double number(const char* key) const {
    return run_.strategy_options.has(key) ? run_.strategy_options.get<double>(key) : 0;
  }

  const CodecSpec& spec_;
  const CompressedRun& run_;
  const CodedExchange exchange_;
};

}  // namespace

CodedExchange coded_exchange(const std::string& strategy) {
  static const std::map<std::string, CodedExchange, std::less<>> all = {
      {"single", CodedExchange::nothing},    {"none", CodedExchange::nothing},
      {"hogwild", CodedExchange::nothing},   {"allreduce", CodedExchange::gradients},
      {"local-sgd", CodedExchange::ways},    {"parameter-server", CodedExchange::gradients},
      {"consensus", CodedExchange::copies},  {"gossip", CodedExchange::copies},
      {"push-sum", CodedExchange::copies},   {"moshpit", CodedExchange::copies},
      {"hierarchical", CodedExchange::both},
  };
  const auto found = all.find(strategy);
  return found == all.end() ? CodedExchange::unknown : found->second;
}

void check_pair(const Compression& compression, const Options& compress, const CompressedRun& run) {
  const Pair pair(compression, run);
  pair.check_exchange();
  pair.check_codec();
  pair.check_options();
  pair.check_keys(compression, compress);
}

}  // namespace veche
