#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/threads/threads.h"

namespace veche::testing {

// One node's own objects for a collective.
struct TestNode {
  explicit TestNode(std::unique_ptr<Endpoint> given) : endpoint(std::move(given)) {}

  std::unique_ptr<Endpoint> endpoint;
  MessagePool pool;
  AdaptiveTimeout timeout{Time(20)};
  Channel channel{*endpoint, pool, timeout, Tag{1}};

  int me() const { return endpoint->id().value; }
};

using Network = std::function<std::unique_ptr<Endpoint>(std::unique_ptr<Endpoint>)>;

// Runs `body` as n nodes on n threads; an exception fails the test with its message.
inline void run_nodes(int nodes, const std::function<void(TestNode&)>& body, const Network& network = {}) {
  ThreadsCluster cluster(nodes);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int i = 0; i < nodes; ++i) {
    endpoints.push_back(cluster.endpoint(NodeId{i}));
    if (network) endpoints.back() = network(std::move(endpoints.back()));
  }
  std::vector<std::string> failures(static_cast<std::size_t>(nodes));
  cluster.run([&](NodeId id) {
    const auto i = static_cast<std::size_t>(id.value);
    TestNode node(std::move(endpoints[i]));
    try {
      body(node);
      node.endpoint->flush();
    } catch (const std::exception& error) {
      failures[i] = error.what();
    }
  });
  for (std::size_t i = 0; i < failures.size(); ++i) EXPECT_EQ(failures[i], "") << "node " << i;
}

}  // namespace veche::testing
