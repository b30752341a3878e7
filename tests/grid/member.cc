// A member of a grid that does nothing but go in step with the others: in every step each node
// sends its number to all and adds up what comes. What it sees it prints: a line a view, when its
// first step was made, and one every so many steps.
//   member found FOLDER | join FOLDER INVITATION | resume FOLDER      until its input is closed
//   member invite FOLDER USES SECONDS | status FOLDER | revoke FOLDER ID
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "veche/channel.h"
#include "veche/comm/grid/grid.h"
#include "veche/errors.h"

namespace {

using namespace veche;

constexpr std::uint64_t kTell = 50;  // steps

// Seconds, as the environment has them.
Time seconds(const char* name, double otherwise) {
  const char* const told = std::getenv(name);
  return Time(told == nullptr ? otherwise : std::stod(told));
}

std::atomic<bool> stopping = false;

void print(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

// One step of one node. All bring the same step, or none continues.
void go_together(Endpoint& endpoint, MessagePool& pool, std::uint64_t step) {
  const Tag tag{1 + step % 2};
  for (int i = 0; i < endpoint.size(); ++i)
    if (NodeId{i} != endpoint.id()) endpoint.send(NodeId{i}, tag, pool.copy_of_item(step));
  for (int i = 0; i < endpoint.size(); ++i) {
    if (NodeId{i} == endpoint.id()) continue;
    const Received received = endpoint.receive(NodeId{i}, tag, endpoint.now() + Time(60));
    if (received.outcome != Received::Outcome::message) throw PeerLost(NodeId{i}, "is gone");
    const std::uint64_t theirs = received.message.as<std::uint64_t>().front();
    if (theirs != step) {
      print("WRONG: node " + std::to_string(i) + " is at step " + std::to_string(theirs) + ", not " +
            std::to_string(step));
      std::_Exit(3);
    }
  }
}

void train(grid::Grid& member) {
  const Time pause = seconds("GRID_STEP", 0.002);
  std::atomic<std::uint64_t> done = 0;
  member.serve(
      [&](const std::string& name, std::uint64_t offset, std::uint32_t length) -> std::optional<Message> {
        if (name != "step") return {};
        MessagePool pool;
        Message message = pool.make(length);
        for (char& each : message.writable<char>()) each = static_cast<char>(offset++ % 251);
        return message;
      });
  while (!stopping) {
    const auto next = member.views().next({{done, done}});
    if (!next) break;
    const View& view = *next;
    done = view.first_step;
    print("view " + std::to_string(view.number) + " nodes " + std::to_string(view.nodes()) + " step " +
          std::to_string(done));
    std::map<NodeId, std::unique_ptr<Endpoint>> endpoints;
    for (const NodeId node : view.cluster->here()) endpoints[node] = view.cluster->endpoint(node);
    try {
      view.cluster->run([&](NodeId node) {
        MessagePool pool;
        Endpoint& endpoint = *endpoints.at(node);
        while (!stopping) {
          go_together(endpoint, pool, done);
          ++done;
          if (done == view.first_step + 1)
            print("went on in view " + std::to_string(view.number) + " nodes " +
                  std::to_string(view.nodes()) + " at " +
                  std::to_string(Time(std::chrono::steady_clock::now().time_since_epoch()).count()));
          if (done % kTell == 0)
            print("step " + std::to_string(done) + " view " + std::to_string(view.number));
          member.report(done, 1, 0);
          endpoint.receive(endpoint.id(), Tag{99}, endpoint.now() + pause);
        }
      });
    } catch (const ViewChanged&) {
    } catch (const PeerLost&) {
    }
  }
  member.views().leave();
}

int run(const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  const std::string& folder = words.at(1);
  if (what == "invite") {
    grid::Terms terms;
    terms.uses = static_cast<std::uint32_t>(std::stoul(words.at(2)));
    terms.valid = std::chrono::seconds(std::stol(words.at(3)));
    print(grid::invite_by(folder, terms));
    return 0;
  }
  if (what == "revoke") {
    grid::revoke_by(folder, words.at(2));
    return 0;
  }
  if (what == "status") {
    const grid::Status status = grid::status_of(folder);
    for (const grid::MemberStatus& each : status.members)
      print(grid::hex(each.member.id) + " " + std::to_string(each.seat) + " " + std::to_string(each.step) +
            " " + each.member.name + " " + each.state);
    return 0;
  }
  grid::GridOptions options;
  options.folder = folder;
  const char* const place = std::getenv("GRID_LISTEN");
  options.listen = place == nullptr ? "127.0.0.1:0" : place;
  options.gather = seconds("GRID_GATHER", 1);
  options.name = std::filesystem::path(folder).filename();
  options.interrupted = &stopping;
  options.say = [](const std::string& sentence) { std::cerr << sentence << std::endl; };
  std::unique_ptr<grid::Grid> member;
  if (what == "found") member = grid::found(options, "the configuration");
  if (what == "join") member = grid::join(options, words.at(2));
  if (what == "resume") member = grid::resume(options);
  if (what == "join") {
    for (int tries = 0; member->donors().empty() && tries < 500; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (member->donors().empty()) throw RunError("nobody is linked");
    const auto piece = member->fetch(member->donors().front(), "step", 1000, 100'000, Time(10));
    if (!piece || piece->size() != 100'000 || piece->as<unsigned char>().back() != (1000 + 99'999) % 251)
      throw RunError("the piece is wrong");
    if (member->fetch(member->donors().front(), "nothing", 0, 10, Time(10)))
      throw RunError("what is not there came");
    if (member->configuration() != "the configuration") throw RunError("the configuration is wrong");
  }
  print("id " + grid::hex(member->me()));
  // Not waited for: its input may stay open.
  std::thread([] {
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    stopping = true;
  }).detach();
  train(*member);
  print("left");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const veche::Error& error) {
    std::cerr << error.what() << std::endl;
    return dynamic_cast<const veche::RequestError*>(&error) != nullptr ? 2 : 1;
  }
}
