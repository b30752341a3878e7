#include "bench/cluster/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "veche/collectives.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr int kRoundTrips = 100;
constexpr std::size_t kSmall = 8;  // bytes
constexpr std::size_t kLeast = 64 << 10, kMost = 128 << 20;
constexpr int kInARow = 3;
constexpr Time kLongEnough{0.5};  // minimum duration of a reliable measurement
constexpr int kMostPartners = 8;  // partners of a rank in large jobs
constexpr double kDuplex = 0.75;  // minimum fraction of the one-way rate under full duplex
constexpr double kAlike = 0.1;    // hosts that differ by less get equal figures

struct Pair {
  int a = 0, b = 0;
  double one_way = 0;    // seconds
  double bandwidth = 0;  // bytes per second, one way
  double both = 0;       // the same with full-duplex traffic
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Measurement {
 public:
  explicit Measurement(Endpoint& endpoint) : endpoint_(endpoint) {}

  std::vector<Pair> run() {
    std::vector<Pair> all;
    for (int a = 0; a < channel_.size(); ++a)
      for (int b = a + 1; b < std::min(channel_.size(), a + 1 + kMostPartners); ++b) {
        Pair pair{.a = a, .b = b};
        barrier(channel_);
        const int me = channel_.me().value;
        if (me == a || me == b) measure(pair, NodeId{me == a ? b : a});
        share(pair);
        all.push_back(pair);
      }
    return all;
  }

 private:
  void measure(Pair& pair, NodeId other) {
    const bool first = channel_.me().value == pair.a;
    pair.one_way = latency(other, first);
    for (std::size_t size = kLeast;; size *= 2) {
      there_and_back(other, first);  // synchronises both
      const double way = in_a_row(other, first ? size : kSmall, first);
      pair.bandwidth = static_cast<double>(size) / std::max(way - 2 * pair.one_way, 1e-9);
      there_and_back(other, first);
      const double ways = in_a_row(other, size, true);
      pair.both = static_cast<double>(size) / std::max(ways - pair.one_way, 1e-9);
      if (decided(other, first, kInARow * way >= kLongEnough.count() || size >= kMost)) return;
    }
  }

  // Seconds per message in a sequence where each waits for the previous answer; or per answer, if
  // the other side begins. The first message does not count: it consumes burst allowances (token
  // buckets) and suffers TCP's slow start.
  double in_a_row(NodeId other, std::size_t size, bool begins) {
    Time start{};
    for (int i = 0; i <= kInARow; ++i) {
      if (i == 1) start = endpoint_.now();
      if (begins) send(other, size);
      channel_.expect(other);
      if (!begins) send(other, size);
    }
    return (endpoint_.now() - start).count() / kInARow;
  }

  double latency(NodeId other, bool first) {
    std::vector<double> ways;
    for (int i = 0; i < kRoundTrips; ++i) {
      const Time start = endpoint_.now();
      there_and_back(other, first);
      ways.push_back((endpoint_.now() - start).count() / 2);
    }
    return median(std::move(ways));
  }

  // A few bytes from the first node, and as many back.
  void there_and_back(NodeId other, bool first) {
    if (first) send(other, kSmall);
    channel_.expect(other);
    if (!first) send(other, kSmall);
  }

  // The first node decides for both.
  bool decided(NodeId other, bool first, bool mine) {
    if (first) {
      channel_.send(other, channel_.pool.copy_of_item(mine));
      return mine;
    }
    return channel_.expect(other).as<bool>().front();
  }

  void send(NodeId other, std::size_t size) {
    Message message = channel_.pool.make(size);
    std::memset(message.writable<std::byte>().data(), 1, size);
    channel_.send(other, std::move(message));
  }

  void share(Pair& pair) {
    std::vector<float> figures{static_cast<float>(pair.one_way), static_cast<float>(pair.bandwidth),
                               static_cast<float>(pair.both)};
    broadcast(channel_, NodeId{pair.a}, figures);
    pair.one_way = static_cast<double>(figures[0]);
    pair.bandwidth = static_cast<double>(figures[1]);
    pair.both = static_cast<double>(figures[2]);
  }

  Endpoint& endpoint_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel channel_{endpoint_, pool_, timeout_, Tag{1}};
};

// One value if all are alike, otherwise a list.
std::string as_toml(const std::vector<double>& values, const std::function<std::string(double)>& words) {
  const auto [least, most] = std::ranges::minmax(values);
  if (most <= least * (1 + kAlike)) return words(median(values));
  std::vector<std::string> all;
  for (const double value : values) all.push_back(words(value));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string section(const std::vector<Pair>& pairs, std::size_t hosts) {
  std::vector<std::vector<double>> one_way(hosts), bandwidth(hosts);
  std::vector<double> duplex;
  for (const Pair& pair : pairs) duplex.push_back(pair.both / pair.bandwidth);
  for (const Pair& pair : pairs)
    for (const int host : {pair.a, pair.b}) {
      one_way[static_cast<std::size_t>(host)].push_back(pair.one_way);
      bandwidth[static_cast<std::size_t>(host)].push_back(pair.bandwidth);
    }
  std::vector<double> latencies, rates;
  for (std::size_t host = 0; host < hosts; ++host) {
    latencies.push_back(median(one_way[host]) / 2);  // a path has two links
    rates.push_back(std::ranges::max(bandwidth[host]));
  }
  return fmt::format(
      "# measured between {} ranks by `veche bench network`\n[network]\nmodel = \"CM02\"\ncrosstraffic = "
      "true\n"
      "duplex = {}\nbandwidth = {}\nlatency = {}\n",
      hosts, median(duplex) > kDuplex,
      as_toml(rates, [](double bytes) { return fmt::format("\"{:.4g}Mbps\"", 8 * bytes / 1e6); }),
      as_toml(latencies, [](double seconds) { return fmt::format("\"{:.4g}us\"", 1e6 * seconds); }));
}

}  // namespace

std::string measured_network(Job& job) {
  if (job.size() < 2)
    throw RequestError("`veche bench network` measures between ranks: start it with mpirun -np 2 or more");
  const std::unique_ptr<Cluster> cluster = job.cluster(job.size());
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId node : cluster->here()) endpoints.push_back(cluster->endpoint(node));
  std::string text;
  cluster->run([&](NodeId) {
    text = section(Measurement(*endpoints.front()).run(), static_cast<std::size_t>(job.size()));
  });
  return text;
}

}  // namespace veche
