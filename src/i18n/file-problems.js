// What is wrong with a file, by `details.problem` of the error INVALID_FILE, in each language. It is plain JavaScript because
// the submitter's page loads this very file, with its first refusal.

export const en = {
  'INVALID_FILE.empty': 'The file is empty: it needs a header row with the names of the columns.',
  'INVALID_FILE.no-objects': 'The file is empty: it needs a JSON object on each line.',
  'INVALID_FILE.lock-file':
    'This is the file that Excel keeps beside an open workbook (~$…): choose the workbook itself.',
  'INVALID_FILE.old-workbook':
    'This is a workbook with a password, or one of the old .xls kind: open it in Excel and save it as .xlsx without a password.',
  'INVALID_FILE.password': 'The file has a password: save it without a password.',
  'INVALID_FILE.binary-workbook': 'This is a binary workbook (.xlsb): open it in Excel and save it as .xlsx.',
  'INVALID_FILE.open-document': 'This is an OpenDocument table (.ods): open it and save it as .xlsx or CSV.',
  'INVALID_FILE.markup':
    'This is a web page or XML, which some programs save as .xls: open it in Excel and save it as .xlsx.',
  'INVALID_FILE.pdf': 'This is a PDF, not a table: save the table as CSV or XLSX.',
  'INVALID_FILE.gzip': 'This file is packed with gzip: unpack it and send the table itself.',
  'INVALID_FILE.picture': 'This is a picture, not a table: save the table as CSV or XLSX.',
  'INVALID_FILE.zip': 'This is a zip archive, but not a workbook: save the table as .xlsx.',
  'INVALID_FILE.is-csv':
    'The file should be {stated}, but it is probably text: rename it to .csv, or save it as .xlsx.',
  'INVALID_FILE.is-xlsx':
    'The file should be {stated}, but it is probably an Excel workbook: rename it to .xlsx, or save it as CSV.',
  'INVALID_FILE.is-ndjson':
    'The file should be {stated}, but it begins with a JSON object: rename it to .ndjson, or to .json when it is a list.',
  'INVALID_FILE.damaged': 'The file is damaged or incomplete: copy it again, or open it and save it again.',
  'INVALID_FILE.too-large': 'The file is too large when it is unpacked: split it, or save it as CSV.',
  'INVALID_FILE.too-many-parts': 'The file has too many parts: remove its pictures, or save it as CSV.',
  'INVALID_FILE.no-sheet': 'The workbook does not have this sheet. Its sheets are {known}.',
  'INVALID_FILE.empty-sheet': 'The sheet “{sheet}” is empty: choose another one of {sheets}.',
  'INVALID_FILE.second-sheet': 'The rows continue on another sheet ({sheets}): save each sheet as a file of its own.',
  'INVALID_FILE.no-header': 'Row {row} is empty: the header row has the names of the columns.',
  'INVALID_FILE.no-names':
    'Row {row} has no names for most of the columns: choose the row with the names as the header row.',
  'INVALID_FILE.unnamed-column':
    'Row {row}, column {column}: there is a value, but the column has no name. Give the column a name, or put quotes around a cell that contains the delimiter.',
  'INVALID_FILE.same-name':
    'Row {row}, column {column}: another column is named “{name}”, too. Give each its own name.',
  'INVALID_FILE.too-many-columns': 'Row {row}: a table can have at most 16,384 columns.',
  'INVALID_FILE.empty-columns': 'Row {row}: nearly all cells are empty. Delete the columns that are not needed.',
  'INVALID_FILE.no-column': 'The file has no column {missing}. Its columns are {header}.',
  'INVALID_FILE.long-row':
    'Row {row} is longer than 16 MiB. If a quote (") is not closed, close it; otherwise split the row.',
  'INVALID_FILE.quote-inside':
    'Row {row}, column {column}: a quote (") is in the middle of a cell. Put the whole cell into quotes and write "" for the one inside.',
  'INVALID_FILE.quote-open':
    'Row {row}, column {column}: a quote (") is opened and never closed. Close it, or write "" for a quote inside a cell.',
  'INVALID_FILE.text-after-quote':
    'Row {row}, column {column}: there is text after a closing quote ("). Write "" for a quote inside a cell.',
  'INVALID_FILE.no-text': 'Row {row}: this is not a text file, or its encoding is not known. Save it as “CSV UTF-8”.',
  'INVALID_FILE.other-encoding': 'Row {row}: the text has another encoding. Save the file as “CSV UTF-8”.',
  'INVALID_FILE.unclear-encoding':
    'Line {row}: the encoding is not clear, it may be {encodings}. Choose it, or save the file as “CSV UTF-8”.',
  'INVALID_FILE.no-object': 'Row {row} is not a JSON object: each line must be one.',
  'INVALID_FILE.after-list':
    'Row {row}: there is text behind the end of the list. Leave only one list of objects in the file.',

  // Corrected rows
  'INVALID_FILE.other-file':
    'This is not the file that you downloaded: it has no column {missing}. Download the refused rows and correct that file.',
  'INVALID_FILE.unknown-row': 'Row {row}, column “{column}”: there is no such row here.',
  'INVALID_FILE.twice': 'Row {row}, column “{column}”: row {first} is the same row. Keep only one of them.',
  'INVALID_FILE.hidden':
    'Row {row}, column “{column}”: some values of this row are hidden here, so it can’t be corrected here.',
  'INVALID_FILE.row-key':
    'Row {row}, column “{column}”: this column tells the rows apart. Leave it as it is in the downloaded file.',
  'INVALID_FILE.other-task': 'Row {row}, column “{column}”: this row belongs to another upload.',
  'INVALID_FILE.other-job':
    'Row {row}, column “{column}”: this row is for {job}. Leave the column as it is in the downloaded file.',
  'INVALID_FILE.job-not-kept':
    'Row {row}: this row is for {job}, and its other options were not kept, so it can’t run again. Remove the row.',
  'INVALID_FILE.no-arguments': 'Row {row}, column “{column}”: the arguments of {job} belong here.',
  'INVALID_FILE.no-json': 'Row {row}, column “{column}”: this is not JSON. Check its quotes, commas and brackets.',
  'INVALID_FILE.no-list': 'Row {row}, column “{column}”: this is not a list. Write square brackets around it: [ … ].',
  'INVALID_FILE.refused-arguments':
    'Row {row}, column “{column}”: a value in this list can’t be stored. It has too many levels, too many digits, or a broken character.',
  'INVALID_FILE.same-key':
    'Row {row}, column “{column}”: several rows have this value. Correct the downloaded file, in which the column “{keyColumn}” tells them apart.',
}

/** @typedef {Record<keyof typeof en, string>} FileProblems */

/** @type {FileProblems} */
export const ru = {
  'INVALID_FILE.empty': 'Файл пуст: нужна строка заголовка с названиями столбцов.',
  'INVALID_FILE.no-objects': 'Файл пуст: в каждой строке нужен объект JSON.',
  'INVALID_FILE.lock-file':
    'Это служебный файл, который Excel создаёт рядом с открытой книгой (~$…): выберите саму книгу.',
  'INVALID_FILE.old-workbook':
    'Это книга с паролем или в старом формате .xls: откройте её в Excel и сохраните как .xlsx без пароля.',
  'INVALID_FILE.password': 'Файл защищён паролем: сохраните его без пароля.',
  'INVALID_FILE.binary-workbook': 'Это двоичная книга (.xlsb): откройте её в Excel и сохраните как .xlsx.',
  'INVALID_FILE.open-document': 'Это таблица OpenDocument (.ods): откройте её и сохраните как .xlsx или CSV.',
  'INVALID_FILE.markup':
    'Это веб-страница или XML, которые некоторые программы сохраняют как .xls: откройте файл в Excel и сохраните как .xlsx.',
  'INVALID_FILE.pdf': 'Это PDF, а не таблица: сохраните таблицу как CSV или XLSX.',
  'INVALID_FILE.gzip': 'Файл сжат программой gzip: распакуйте его и отправьте саму таблицу.',
  'INVALID_FILE.picture': 'Это изображение, а не таблица: сохраните таблицу как CSV или XLSX.',
  'INVALID_FILE.zip': 'Это архив zip, но не книга Excel: сохраните таблицу как .xlsx.',
  'INVALID_FILE.is-csv':
    'Файл должен быть в формате {stated}, но это, похоже, текст: переименуйте его в .csv или сохраните как .xlsx.',
  'INVALID_FILE.is-xlsx':
    'Файл должен быть в формате {stated}, но это, похоже, книга Excel: переименуйте его в .xlsx или сохраните как CSV.',
  'INVALID_FILE.is-ndjson':
    'Файл должен быть в формате {stated}, но он начинается с объекта JSON: переименуйте его в .ndjson, а список – в .json.',
  'INVALID_FILE.damaged': 'Файл повреждён или неполон: скопируйте его ещё раз или откройте и сохраните заново.',
  'INVALID_FILE.too-large': 'После распаковки файл слишком велик: разделите его или сохраните как CSV.',
  'INVALID_FILE.too-many-parts': 'В файле слишком много частей: удалите из него изображения или сохраните как CSV.',
  'INVALID_FILE.no-sheet': 'В книге нет этого листа. Есть листы {known}.',
  'INVALID_FILE.empty-sheet': 'Лист «{sheet}» пуст: выберите другой из {sheets}.',
  'INVALID_FILE.second-sheet':
    'Строки продолжаются на другом листе ({sheets}): сохраните каждый лист отдельным файлом.',
  'INVALID_FILE.no-header': 'Строка {row} пуста: в строке заголовка стоят названия столбцов.',
  'INVALID_FILE.no-names':
    'В строке {row} нет названий большинства столбцов: выберите строку с названиями как строку заголовка.',
  'INVALID_FILE.unnamed-column':
    'Строка {row}, столбец {column}: здесь есть значение, а у столбца нет названия. Дайте столбцу название или возьмите в кавычки ячейку, в которой есть разделитель.',
  'INVALID_FILE.same-name':
    'Строка {row}, столбец {column}: ещё один столбец называется «{name}». Дайте каждому своё название.',
  'INVALID_FILE.too-many-columns': 'Строка {row}: в таблице может быть не больше 16 384 столбцов.',
  'INVALID_FILE.empty-columns': 'Строка {row}: почти все ячейки пусты. Удалите лишние столбцы.',
  'INVALID_FILE.no-column': 'В файле нет столбца {missing}. Есть столбцы {header}.',
  'INVALID_FILE.long-row':
    'Строка {row} длиннее 16 МиБ. Если не закрыта кавычка ("), закройте её, иначе разделите строку.',
  'INVALID_FILE.quote-inside':
    'Строка {row}, столбец {column}: кавычка (") стоит внутри ячейки. Возьмите всю ячейку в кавычки, а внутри пишите "".',
  'INVALID_FILE.quote-open':
    'Строка {row}, столбец {column}: кавычка (") открыта и не закрыта. Закройте её, а для кавычки внутри ячейки пишите "".',
  'INVALID_FILE.text-after-quote':
    'Строка {row}, столбец {column}: после закрывающей кавычки (") стоит текст. Для кавычки внутри ячейки пишите "".',
  'INVALID_FILE.no-text':
    'Строка {row}: это не текстовый файл, или его кодировка неизвестна. Сохраните его как «CSV UTF-8».',
  'INVALID_FILE.other-encoding': 'Строка {row}: у текста другая кодировка. Сохраните файл как «CSV UTF-8».',
  'INVALID_FILE.unclear-encoding':
    'Строка {row}: кодировка неясна, возможно {encodings}. Выберите её или сохраните файл как «CSV UTF-8».',
  'INVALID_FILE.no-object': 'Строка {row} – не объект JSON: им должна быть каждая строка.',
  'INVALID_FILE.after-list':
    'Строка {row}: после конца списка есть текст. Оставьте в файле только один список объектов.',

  // Corrected rows
  'INVALID_FILE.other-file':
    'Это не тот файл, который вы скачали: в нём нет столбца {missing}. Скачайте отклонённые строки и исправьте их в этом файле.',
  'INVALID_FILE.unknown-row': 'Строка {row}, столбец «{column}»: такой строки здесь нет.',
  'INVALID_FILE.twice': 'Строка {row}, столбец «{column}»: это та же строка, что и {first}. Оставьте одну из них.',
  'INVALID_FILE.hidden':
    'Строка {row}, столбец «{column}»: часть значений этой строки здесь скрыта, поэтому исправить её здесь нельзя.',
  'INVALID_FILE.row-key':
    'Строка {row}, столбец «{column}»: по этому столбцу строки различаются. Оставьте его таким, как в скачанном файле.',
  'INVALID_FILE.other-task': 'Строка {row}, столбец «{column}»: эта строка из другой загрузки.',
  'INVALID_FILE.other-job':
    'Строка {row}, столбец «{column}»: эта строка предназначена для {job}. Оставьте столбец таким, как в скачанном файле.',
  'INVALID_FILE.job-not-kept':
    'Строка {row}: она предназначена для {job}, а остальные его параметры не сохранены, поэтому повторить её нельзя. Удалите эту строку.',
  'INVALID_FILE.no-arguments': 'Строка {row}, столбец «{column}»: здесь нужны аргументы для {job}.',
  'INVALID_FILE.no-json': 'Строка {row}, столбец «{column}»: это не JSON. Проверьте кавычки, запятые и скобки.',
  'INVALID_FILE.no-list': 'Строка {row}, столбец «{column}»: это не список. Возьмите его в квадратные скобки: [ … ].',
  'INVALID_FILE.refused-arguments':
    'Строка {row}, столбец «{column}»: одно из значений списка нельзя сохранить. В нём слишком много уровней, слишком много цифр или повреждённый символ.',
  'INVALID_FILE.same-key':
    'Строка {row}, столбец «{column}»: это значение есть в нескольких строках. Исправьте скачанный файл: в нём их различает столбец «{keyColumn}».',
}

/** @type {FileProblems} */
export const zh = {
  'INVALID_FILE.empty': '文件为空：需要一行列名作为表头。',
  'INVALID_FILE.no-objects': '文件为空：每一行都需要一个 JSON 对象。',
  'INVALID_FILE.lock-file': '这是 Excel 在打开的工作簿旁保存的文件（~$…）：请选择工作簿本身。',
  'INVALID_FILE.old-workbook': '这是带密码的工作簿，或旧的 .xls 格式：请在 Excel 中打开，另存为不带密码的 .xlsx。',
  'INVALID_FILE.password': '文件带有密码：请保存为不带密码的文件。',
  'INVALID_FILE.binary-workbook': '这是二进制工作簿（.xlsb）：请在 Excel 中打开，另存为 .xlsx。',
  'INVALID_FILE.open-document': '这是 OpenDocument 表格（.ods）：请打开后另存为 .xlsx 或 CSV。',
  'INVALID_FILE.markup': '这是网页或 XML，有些程序将其保存为 .xls：请在 Excel 中打开，另存为 .xlsx。',
  'INVALID_FILE.pdf': '这是 PDF，不是表格：请将表格保存为 CSV 或 XLSX。',
  'INVALID_FILE.gzip': '此文件经 gzip 压缩：请解压后发送表格本身。',
  'INVALID_FILE.picture': '这是图片，不是表格：请将表格保存为 CSV 或 XLSX。',
  'INVALID_FILE.zip': '这是 zip 压缩包，但不是工作簿：请将表格保存为 .xlsx。',
  'INVALID_FILE.is-csv': '文件应为 {stated}，但内容很可能是文本：请将其改名为 .csv，或另存为 .xlsx。',
  'INVALID_FILE.is-xlsx': '文件应为 {stated}，但很可能是 Excel 工作簿：请将其改名为 .xlsx，或另存为 CSV。',
  'INVALID_FILE.is-ndjson': '文件应为 {stated}，但开头是 JSON 对象：请将其改名为 .ndjson；如果是列表，则改名为 .json。',
  'INVALID_FILE.damaged': '文件已损坏或不完整：请重新复制，或打开后重新保存。',
  'INVALID_FILE.too-large': '文件解压后过大：请拆分，或保存为 CSV。',
  'INVALID_FILE.too-many-parts': '文件包含的部分过多：请删除其中的图片，或保存为 CSV。',
  'INVALID_FILE.no-sheet': '工作簿中没有此工作表。现有工作表：{known}。',
  'INVALID_FILE.empty-sheet': '工作表“{sheet}”为空：请从 {sheets} 中选择另一个。',
  'INVALID_FILE.second-sheet': '数据在另一个工作表中继续（{sheets}）：请将每个工作表保存为单独的文件。',
  'INVALID_FILE.no-header': '第 {row} 行为空：表头行应包含列名。',
  'INVALID_FILE.no-names': '第 {row} 行缺少大多数列的名称：请选择包含列名的行作为表头。',
  'INVALID_FILE.unnamed-column':
    '第 {row} 行 {column} 列：这里有值，但该列没有名称。请为该列命名，或用引号括住包含分隔符的单元格。',
  'INVALID_FILE.same-name': '第 {row} 行 {column} 列：另一列也叫“{name}”。请为每列使用不同的名称。',
  'INVALID_FILE.too-many-columns': '第 {row} 行：表格最多可有 16,384 列。',
  'INVALID_FILE.empty-columns': '第 {row} 行：几乎所有单元格都为空。请删除不需要的列。',
  'INVALID_FILE.no-column': '文件中没有列 {missing}。现有列：{header}。',
  'INVALID_FILE.long-row': '第 {row} 行超过 16 MiB。如果有引号（"）未闭合，请将其闭合；否则请拆分该行。',
  'INVALID_FILE.quote-inside':
    '第 {row} 行 {column} 列：单元格中间有引号（"）。请用引号括住整个单元格，并将其中的引号写为 ""。',
  'INVALID_FILE.quote-open': '第 {row} 行 {column} 列：引号（"）没有闭合。请将其闭合，或将单元格内的引号写为 ""。',
  'INVALID_FILE.text-after-quote': '第 {row} 行 {column} 列：闭合的引号（"）之后还有文本。请将单元格内的引号写为 ""。',
  'INVALID_FILE.no-text': '第 {row} 行：这不是文本文件，或编码未知。请将其保存为“CSV UTF-8”。',
  'INVALID_FILE.other-encoding': '第 {row} 行：文本使用了其他编码。请将文件保存为“CSV UTF-8”。',
  'INVALID_FILE.unclear-encoding':
    '第 {row} 行：编码不明确，可能是 {encodings}。请选择编码，或将文件保存为“CSV UTF-8”。',
  'INVALID_FILE.no-object': '第 {row} 行不是 JSON 对象：每一行都必须是一个对象。',
  'INVALID_FILE.after-list': '第 {row} 行：列表结束后还有文本。文件中只能有一个对象列表。',

  // Corrected rows
  'INVALID_FILE.other-file': '这不是您下载的文件：其中缺少列 {missing}。请下载被拒绝的行，并在该文件中更正。',
  'INVALID_FILE.unknown-row': '第 {row} 行“{column}”列：这里没有这一行。',
  'INVALID_FILE.twice': '第 {row} 行“{column}”列：与第 {first} 行是同一行。请只保留其中一行。',
  'INVALID_FILE.hidden': '第 {row} 行“{column}”列：此行有些值在这里被隐藏，因此无法在这里更正。',
  'INVALID_FILE.row-key': '第 {row} 行“{column}”列：此列用于区分各行。请保持与下载的文件一致。',
  'INVALID_FILE.other-task': '第 {row} 行“{column}”列：这一行属于另一次上传。',
  'INVALID_FILE.other-job': '第 {row} 行“{column}”列：这一行属于 {job}。请使该列与下载的文件保持一致。',
  'INVALID_FILE.job-not-kept': '第 {row} 行：这一行属于 {job}，其他选项没有保留，因此无法再次运行。请删除这一行。',
  'INVALID_FILE.no-arguments': '第 {row} 行“{column}”列：此处应填写 {job} 的参数。',
  'INVALID_FILE.no-json': '第 {row} 行“{column}”列：这不是 JSON。请检查引号、逗号和括号。',
  'INVALID_FILE.no-list': '第 {row} 行“{column}”列：这不是列表。请用方括号括起来：[ … ]。',
  'INVALID_FILE.refused-arguments':
    '第 {row} 行“{column}”列：列表中有一个值无法保存：层级过多、数字过长，或含有损坏的字符。',
  'INVALID_FILE.same-key': '第 {row} 行“{column}”列：有多行具有此值。请更正下载的文件，其中“{keyColumn}”列可区分各行。',
}
