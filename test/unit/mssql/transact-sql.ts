import { type ANTLRErrorListener, CharStreams, CommonTokenStream, type ParserRuleContext, type Token } from 'antlr4ts';
import { PredictionMode } from 'antlr4ts/atn/PredictionMode';
import { TSqlLexer } from 'antlr4ts-sql/dist/src/grammar-output/tsql/TSqlLexer';
import {
  Order_by_clauseContext,
  Output_clauseContext,
  Select_statementContext,
  Table_source_itemContext,
  TSqlParser,
  Update_statementContext,
} from 'antlr4ts-sql/dist/src/grammar-output/tsql/TSqlParser';

/**
 * What is wrong with a batch of T-SQL: syntax errors by a grammar of SQL Server, and what that grammar lets pass although
 * the server, or Babelfish, refuses it. Knows no tables and no types.
 */
export function mistakesIn(sql: string): string[] {
  const quick = parse(sql, PredictionMode.SLL);
  // The quick way accepts nothing that the thorough one refuses, and sometimes less.
  const { errors, tree } = quick.errors.length === 0 ? quick : parse(sql, PredictionMode.LL);
  if (errors.length > 0) return errors;
  return [...structuralMistakes(tree), ...unknownWords(sql), ...hintMistakes(sql)];
}

function parse(sql: string, mode: PredictionMode): { errors: string[]; tree: ParserRuleContext } {
  const errors: string[] = [];
  const listener: ANTLRErrorListener<number | Token> = {
    syntaxError: (_recognizer, _symbol, _line, column, message) => {
      errors.push(`${message} at "${sql.slice(column, column + 40)}"`);
    },
  };
  // The grammar spells keywords in capitals.
  const lexer = new TSqlLexer(CharStreams.fromString(sql.toUpperCase()));
  lexer.removeErrorListeners();
  lexer.addErrorListener(listener);
  const parser = new TSqlParser(new CommonTokenStream(lexer));
  parser.removeErrorListeners();
  parser.addErrorListener(listener);
  parser.interpreter.setPredictionMode(mode);
  return { tree: parser.tsql_file(), errors };
}

function structuralMistakes(tree: ParserRuleContext): string[] {
  return contextsIn(tree).flatMap((context) => {
    if (context instanceof Table_source_itemContext && context.derived_table() && !context.as_table_alias()) {
      return [`a select in a from-clause has no alias: ${context.text}`];
    }
    if (context instanceof Select_statementContext && isNested(context) && isOrderedWithoutTop(context)) {
      return [`a nested select is ordered and has no TOP: ${context.text}`];
    }
    if (context instanceof Update_statementContext && outputOf(context).includes('DELETED.')) {
      return [`an update gives back deleted rows: ${context.text}`];
    }
    return [];
  });
}

function contextsIn(context: ParserRuleContext): ParserRuleContext[] {
  const children = (context.children ?? []).filter((child): child is ParserRuleContext => 'ruleIndex' in child);
  return [context, ...children.flatMap(contextsIn)];
}

function isNested(context: ParserRuleContext): boolean {
  const parents = ['SubqueryContext', 'Derived_tableContext', 'PredicateContext', 'Common_table_expressionContext'];
  return parents.includes(context.parent?.constructor.name ?? '');
}

function isOrderedWithoutTop(select: Select_statementContext): boolean {
  const expression = select.query_expression();
  const ordered = [select, ...contextsIn(expression)].some((context) =>
    context === select
      ? select.order_by_clause()
      : context instanceof Order_by_clauseContext && context.parent === expression,
  );
  return ordered && !expression.query_specification()?.top_clause();
}

function outputOf(context: Update_statementContext): string {
  return context.children?.find((child) => child instanceof Output_clauseContext)?.text ?? '';
}

// Everything that may stand before a parenthesis. The grammar takes any name for a function.
const KNOWN = new Set(
  [
    'and apply as by exec exists from in join key not on or over select then top values when where with',
    'char nvarchar',
    'cast coalesce count datalength datediff_big db_name left len max min object_id openjson row_number',
    'schema_id serverproperty sum sysutcdatetime',
  ].flatMap((words) => words.split(' ')),
);

// What SQL Server has not, what Babelfish has not, and what would make a claim wait or a read lie.
const FORBIDDEN =
  /\|\||::|\b(true|false|offset|limit|returning|boolean|merge|waitfor|format|string_agg|string_split|sp_rename|nocount|nolock|readuncommitted)\b|\balter\s+column\b|\bdrop\s+constraint\b|\bselect\s+\*|\.\*/i;

function unknownWords(sql: string): string[] {
  const text = sql
    .replaceAll(/'[^']*'/g, "''")
    .replaceAll(/\bas \w+ \(/g, 'as (')
    .replaceAll(/\[\w+\]/g, '[]');
  const called = [...text.matchAll(/\b([a-z_]\w*)\s*\(/gi)].map(([, name]) => name!.toLowerCase());
  const forbidden = FORBIDDEN.exec(text)?.[0];
  return [
    ...called.filter((name) => !KNOWN.has(name)).map((name) => `unknown function or keyword ${name}`),
    ...(forbidden === undefined ? [] : [`not in SQL Server, or not in Babelfish: ${forbidden}`]),
  ];
}

function hintMistakes(sql: string): string[] {
  return [...sql.matchAll(/with \(([^()]*readpast[^()]*)\)/gi)]
    .map(([, hints]) => hints!)
    .filter((hints) => hints !== 'updlock, rowlock, readpast')
    .map((hints) => `READPAST without UPDLOCK and ROWLOCK: ${hints}`);
}
