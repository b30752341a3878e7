// Russian for the pages of a served model. A sentence that is missing here stays English; a test
// compares the keys.
export const russian = {
  "Served model": "Модель", "Connecting…": "Соединение…", "Ready": "Готова", "Asking…": "Вопрос…", "Writing…": "Пишет…", "Stopped": "Остановлено", "No answer": "Нет ответа",
  "Dark": "Тёмная", "Light": "Светлая", "The service does not answer: {0}": "Сервис не отвечает: {0}",
  "Answers": "Отвечает", "Step": "Шаг", "Model": "Модель", "Parameters": "Параметров", "Sees": "Видит", "Classes": "Классов", "grey": "серое", "colour": "цветное",
  "the average of {0} nodes": "среднее {0} узлов", "node {0}": "узел {0}",
  "Columns": "Столбцов", "Answers with": "Предсказывает", "Vocabulary": "Словарь", "Tokenizer": "Токенизатор", "{0} tokens": "токенов: {0}", "{0} symbols": "символов: {0}",
  "Ask about": "О чём спросить", "Samples": "Образцы", "Draw": "Рисунок", "File": "Файл",
  "{0} of {1} test samples of {2}": "{0} из {1} тестовых образцов {2}", "There are no samples: {0}": "Образцов нет: {0}", "the test set is empty": "тестовых данных нет",
  "Paper": "Лист", "Ink": "Цвет", "Ask": "Спросить", "Clear": "Очистить", "Draw something first.": "Сначала нарисуйте что-нибудь.",
  "The drawing is centred, scaled and softened as the training pictures are. Keys: arrows move, Space lowers and lifts the pen, Delete clears.": "Рисунок центрируется, масштабируется и смягчается, как обучающие картинки. Клавиши: стрелки двигают, пробел опускает и поднимает перо, Delete стирает.",
  "JPEG or PNG, or drop one here": "JPEG или PNG; можно перетащить сюда", "what the model sees": "что видит модель",
  "Answer": "Ответ", "Nothing asked yet: the answer appears here.": "Вопроса ещё не было: ответ появится здесь.", "The averaged model": "Усреднённая модель", "Every node, at step {0}": "Каждый узел, шаг {0}",
  "class": "класс", "node": "узел", "probability": "вероятность", "value": "значение", "right": "верно", "wrong, labelled {0}": "неверно, метка: {0}",
  "{0} of {1} nodes say the same": "согласны узлов: {0} из {1}", "nodes from {0} to {1}": "узлы: от {0} до {1}", "in the test set: {0}": "в тестовых данных: {0}",
  "bar: the averaged model": "полоса: усреднённая модель", "line: a node": "черта: узел", "another class than the averaged model's": "не тот класс, что у усреднённой модели",
  "Row": "Строка", "missing": "нет значения", "missing; mean {0}": "нет; среднее {0}", "Fields may stay empty: the value is missing.": "Поля можно не заполнять: значения нет.",
  "Beginning": "Начало", "The beginning of the text": "Начало текста", "Number of tokens": "Число токенов", "Temperature": "Температура", "Most probable tokens, 0: all": "Самых вероятных, 0: все", "Seed": "Случайное начало", "Continue": "Продолжить", "Stop": "Остановить", "Text": "Текст", "Nothing written yet.": "Пока ничего не написано.",
  "{0} tokens, {1} per second": "токенов: {0}, в секунду: {1}", "The service has ended the text.": "Сервис прервал текст.",
  "The same from a program": "То же из программы",
};
