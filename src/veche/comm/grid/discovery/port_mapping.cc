#include "veche/comm/grid/discovery/port_mapping.h"

#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>
#include <miniupnpc/upnperrors.h>

#include <array>
#include <chrono>
#include <thread>

#include "veche/base/thread/mutex.h"

namespace veche::grid {
namespace {

constexpr int kToDiscover = 2000;  // milliseconds
constexpr std::chrono::seconds kLease{600}, kRenew{240}, kAtTheEnd{2};
constexpr int kPortsTried = 8;
constexpr int kTakenByAnother = 718;  // error code of routers
constexpr int kOnlyForEver = 725;

// The router that answers, while this object lives.
class Router {
 public:
  Router() {
    int error = 0;
    UPNPDev* const devices = upnpDiscover(kToDiscover, nullptr, nullptr, 0, 0, 2, &error);
    if (devices == nullptr) return;
    std::array<char, 64> lan{};
    found_ = UPNP_GetValidIGD(devices, &urls_, &data_, lan.data(), static_cast<int>(lan.size()));
    freeUPNPDevlist(devices);
    inner_ = lan.data();
  }
  ~Router() {
    if (found_ != 0) FreeUPNPUrls(&urls_);
  }
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  bool answers() const { return found_ == 1; }  // other values: not connected, or not a router
  std::string outer() const {
    std::array<char, 64> address{};
    return UPNP_GetExternalIPAddress(urls_.controlURL, data_.first.servicetype, address.data()) == 0
               ? address.data()
               : "";
  }
  // Returns 0 or the router's error code.
  int map(std::uint16_t outer, std::uint16_t inner) {
    const auto ask = [&](const std::string& lease) {
      return UPNP_AddPortMapping(urls_.controlURL, data_.first.servicetype, std::to_string(outer).c_str(),
                                 std::to_string(inner).c_str(), inner_.c_str(), "veche grid", "TCP", nullptr,
                                 lease.c_str());
    };
    const int answer = ask(std::to_string(kLease.count()));
    return answer == kOnlyForEver ? ask("0") : answer;
  }
  void unmap(std::uint16_t outer) {
    UPNP_DeletePortMapping(urls_.controlURL, data_.first.servicetype, std::to_string(outer).c_str(), "TCP",
                           nullptr);
  }

 private:
  UPNPUrls urls_ = {};
  IGDdatas data_ = {};
  std::string inner_;
  int found_ = 0;
};

}  // namespace

struct PortMapping::State {
  std::uint16_t port = 0;
  std::function<void(const Outcome&)> report;
  Mutex mutex;
  ConditionVariable changed;
  bool stopping VECHE_GUARDED_BY(mutex) = false;
  bool ended VECHE_GUARDED_BY(mutex) = false;

  void tell(const Outcome& outcome) {
    const MutexLock lock(mutex);
    if (!stopping) report(outcome);
  }

  void run() {
    Router router;
    if (!router.answers()) return tell({"", "no router answers"});
    std::uint16_t outer = port;
    std::string last;
    for (;;) {
      int answer = router.map(outer, port);
      for (int tries = 1; answer == kTakenByAnother && last.empty() && tries < kPortsTried; ++tries)
        answer = router.map(++outer, port);
      const std::string host = answer == 0 ? router.outer() : "";
      const std::string address = host.empty() ? "" : host + ":" + std::to_string(outer);
      if (address.empty() && last.empty()) {
        const char* const words = strupnperror(answer);
        return tell({"", "the router refuses: " + std::string(words != nullptr ? words : "no reason")});
      }
      if (!address.empty() && address != last) tell({last = address, ""});
      MutexLock lock(mutex);
      if (changed.wait_for(mutex, kRenew, [this]() VECHE_REQUIRES(mutex) { return stopping; })) break;
    }
    router.unmap(outer);
  }
};

PortMapping::PortMapping(std::uint16_t port, std::function<void(const Outcome&)> report)
    : state_(std::make_shared<State>()) {
  state_->port = port;
  state_->report = std::move(report);
  // The thread may still wait for a router when this object is destroyed, so it shares the state.
  std::thread([state = state_] {
    state->run();
    const MutexLock lock(state->mutex);
    state->ended = true;
    state->changed.notify_all();
  }).detach();
}

PortMapping::~PortMapping() {
  MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(state_->mutex, kAtTheEnd,
                           [this]() VECHE_REQUIRES(state_->mutex) { return state_->ended; });
}

}  // namespace veche::grid
