#include "veche/comm/grid/run/searching.h"

#include <algorithm>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/discovery/directory.h"
#include "veche/comm/grid/discovery/record.h"
#include "veche/comm/grid/discovery/topic.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr Time kLookEvery{0.5};
constexpr Time kFirstPause{1}, kLastPause{30};
constexpr Time kAnnounceEvery{20};  // table entries live for a minute
constexpr Time kToLookUp{3};

std::string name_in_table(const MemberId& run) {
  const auto topic = topic_of(run, "dht");
  return {topic.begin(), topic.end()};
}

std::string host_of(const GridOptions& options) {
  return options.listen.substr(0, options.listen.rfind(':'));
}

// The host it listens on, and the assigned port.
std::string listening_at(const GridOptions& options, const Links& links) {
  return host_of(options) + ":" + std::to_string(parse_address(links.local_address()).port);
}

}  // namespace

Searching::Searching(MemberContext& own) : own_(own), name_(name_in_table(own.trust->run())) {
  if (own_.options.multicast)
    lan_.emplace(LanOptions{own_.trust->run(), listening_at(own_.options, *own_.links),
                            [this](const std::string& address) { own_.links->meet({address}); }});
  map_port();
}

void Searching::map_port() {
  const Address listen = parse_address(listening_at(own_.options, *own_.links));
  if (!own_.options.upnp || !listen.number || listen.number->is_loopback()) return;
  port_.emplace(listen.port, [this](const PortMapping::Outcome& outcome) {
    if (outcome.address.empty()) return own_.say("no port of a router leads here: " + outcome.why);
    own_.links->add_address(outcome.address);
    own_.say("can be reached at " + outcome.address + ", a port of the router");
    own_.links->post([this] { next_announcement_ = Time(0); });
  });
}

void Searching::watch() {
  if (!lan_ && !own_.options.directory) return;
  own_.links->after(kLookEvery, [this] {
    look();
    watch();
  });
}

void Searching::stop() {
  worker_.stop();
  lan_.reset();
  port_.reset();
}

void Searching::look() {
  const Time now = own_.now();
  if (own_.options.directory && now >= next_announcement_) {
    next_announcement_ = now + kAnnounceEvery;
    worker_.add([this] { announce(); });
  }
  if (!own_.links->lacks()) {
    pause_ = kFirstPause;
    next_look_ = now + pause_;  // a broken link is first restored by itself
    return;
  }
  if (now < next_look_) return;
  next_look_ = now + pause_;
  pause_ = std::min(2 * pause_, kLastPause);
  if (lan_) lan_->seek();
  if (own_.options.directory) worker_.add([this] { look_up(); });
}

void Searching::announce() {
  const std::string certificate = own_.files.certificate();
  const auto proofs = own_.trust->proofs_of(certificate);
  const AddressRecord record =
      make_address_record(own_.trust->run(), own_.key, certificate, proofs.empty() ? "" : proofs.front(),
                          own_.links->addresses(), std::chrono::system_clock::now());
  own_.options.directory->put(name_, seal(own_.trust->run(), record));
}

void Searching::look_up() {
  for (const std::string& value : own_.options.directory->get(name_, kToLookUp)) {
    const auto record = unseal(own_.trust->run(), value);
    if (record && is_genuine(*record, *own_.trust, std::chrono::system_clock::now()))
      own_.links->meet(record->addresses);
  }
}

std::vector<std::string> search_for(const MemberId& run, const GridOptions& options, Time limit) {
  struct {
    Mutex mutex;
    ConditionVariable changed;
    std::vector<std::string> found VECHE_GUARDED_BY(mutex);
  } shared;
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
  std::optional<Lan> lan;
  if (options.multicast)
    lan.emplace(LanOptions{run, host_of(options) + ":0", [&](const std::string& address) {
                             const MutexLock lock(shared.mutex);
                             if (std::ranges::find(shared.found, address) == shared.found.end())
                               shared.found.push_back(address);
                             shared.changed.notify_all();
                           }});
  if (lan && !lan->has_networks()) lan.reset();
  while ((lan || options.directory) && std::chrono::steady_clock::now() < until &&
         (options.interrupted == nullptr || !*options.interrupted)) {
    if (lan) lan->seek();
    if (options.directory)
      for (const std::string& value : options.directory->get(name_in_table(run), Time(1)))
        if (const auto record = unseal(run, value)) {
          const MutexLock lock(shared.mutex);
          shared.found.insert(shared.found.end(), record->addresses.begin(), record->addresses.end());
        }
    const MutexLock lock(shared.mutex);
    if (shared.changed.wait_for(shared.mutex, std::chrono::milliseconds(500),
                                [&]() VECHE_REQUIRES(shared.mutex) { return !shared.found.empty(); }))
      break;
  }
  lan.reset();  // before its callback's target
  const MutexLock lock(shared.mutex);
  return shared.found;
}

}  // namespace veche::grid
