// The module veche_dht: a table kept by OpenDHT.
#include <opendht.h>

#include <atomic>
#include <future>
#include <sstream>

#include "veche/base/module_api.h"
#include "veche/base/text/host_port.h"
#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/discovery/directory.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

// OpenDHT's own types live for ten minutes, even if their publisher is gone.
const dht::ValueType kRecords(0x5643, "veche address", std::chrono::seconds(60));
constexpr std::chrono::seconds kToEnd{2};

class DhtDirectory : public Directory {
 public:
  explicit DhtDirectory(const std::string& bootstrap) {
    dht::DhtRunner::Config config{};
    config.threaded = true;
    node_.run(0, config);
    node_.registerType(kRecords);
    std::istringstream places(bootstrap);
    for (std::string place; std::getline(places, place, ',');) {
      const auto parts = read_host_port(place);
      if (!parts) throw RequestError("grid.dht: '" + place + "' is no HOST:PORT");
      node_.bootstrap(parts->host, std::to_string(parts->port));
    }
  }
  ~DhtDirectory() override {
    const auto done = std::make_shared<std::promise<void>>();
    node_.shutdown([done] { done->set_value(); });
    done->get_future().wait_for(kToEnd);
    node_.join();
  }

  void put(const std::string& name, const std::string& bytes) override {
    node_.put(dht::InfoHash::get(name),
              dht::Value(kRecords.id, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  }

  std::vector<std::string> get(const std::string& name, Time limit) override {
    struct Found {
      Mutex mutex;
      std::vector<std::string> values VECHE_GUARDED_BY(mutex);
      std::promise<void> done;
      std::atomic<bool> told = false;
    };
    const auto found = std::make_shared<Found>();
    node_.get(
        dht::InfoHash::get(name),
        [found](const std::vector<std::shared_ptr<dht::Value>>& values) {
          const MutexLock lock(found->mutex);
          for (const auto& value : values)
            if (value->type == kRecords.id)
              found->values.emplace_back(value->data.begin(), value->data.end());
          return true;
        },
        [found](bool) {
          if (!found->told.exchange(true)) found->done.set_value();
        });
    found->done.get_future().wait_for(limit);
    const MutexLock lock(found->mutex);
    return found->values;
  }

 private:
  dht::DhtRunner node_;
};

}  // namespace
}  // namespace veche::grid

extern "C" VECHE_MODULE_API veche::grid::Directory* veche_dht_directory(const std::string& bootstrap) {
  return new veche::grid::DhtDirectory(bootstrap);
}
